import { createHash, randomInt } from "node:crypto";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest, GuestListener, ListenedConnection, SocketAddress } from "../../src/runtime/guest/guest.ts";
import { collect, createSandbox, readUntil, run, shareSandbox, soon, type OpenRuntime } from "./contract-sandbox.ts";

const HUNDRED_MEGABYTES = 104_857_600;
const BLOCK = 65_536;

/** Connects, sends what it reads from its input, ends, and prints what it hears. */
const CLIENT = `
import socket, sys, threading
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def send():
  while data := sys.stdin.buffer.read1(65536): client.sendall(data)
  client.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
while data := client.recv(65536): sys.stdout.buffer.write(data)
`;
const SERVER = `
import socket, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("listens", flush=True)
sys.stdin.read()
`;

export function listenContract(open: OpenRuntime): void {
  describe("a listener of the host", () => {
    const { get, guest } = shareSandbox(open);

    it("takes connections of programs inside, and tells where they went", async () => {
      const [first, second] = [freshAddress(3_128), freshAddress(1_080)];
      await using listening = await listen(guest(), [first, second]);
      const answers = Promise.all([hear(guest(), first, "one"), hear(guest(), second, "two")]);
      const connections = [await listening.next(), await listening.next()].toSorted((one, other) => one.local.port - other.local.port);
      expect(connections.map((connection) => connection.local)).toEqual([second, first]);
      for (const { stream } of connections) stream.end(`heard ${(await collect(stream)).toString()}`);
      expect(await answers).toEqual(["heard one", "heard two"]);
    });

    it("is in line behind another process's, and takes over when that one ends", async () => {
      const address = freshAddress();
      const first = await listen(guest(), [address]);
      await using second = await listen(otherProcess(), [freshAddress(), address]);
      await using third = await listen(guest(), [address]);
      const held: string[] = [];
      void second.listener.held.then(() => held.push("second"), ignoreEnd);
      void third.listener.held.then(() => held.push("third"), ignoreEnd);
      const answer = hear(guest(), address, "to the first");
      (await first.next()).stream.end("first");
      expect([await answer, held]).toEqual(["first", []]);
      await first[Symbol.asyncDispose]();
      await second.listener.held;
      expect(held).toEqual(["second"]);
      const later = hear(guest(), address, "to the second");
      (await second.next()).stream.end("second");
      expect(await later).toBe("second");
    });

    it("refuses an address that a program inside holds", async () => {
      const address = freshAddress();
      const argv = ["python3", "-c", SERVER, address.address, String(address.port)];
      await using server = await guest().exec({ argv, signal: soon() });
      await readUntil(server.stdout, "listens");
      const listener = await guest().listen([freshAddress(), address], { signal: soon() });
      await expect(listener.held).rejects.toMatchObject({ code: "PORT_TAKEN" });
    });

    it("refuses an address that is not the sandbox's own", async () => {
      const bad = [{ address: "8.8.8.8", port: 80 }, { address: "localhost", port: 80 }, freshAddress(0), freshAddress(65_536)];
      for (const address of bad.slice(1)) {
        await expect(guest().listen([address], { signal: soon() })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
      }
    });

    it("ends quietly when its signal aborts, and keeps what was taken", async () => {
      const address = freshAddress();
      const listening = await listen(guest(), [address]);
      const answer = hear(guest(), address, "hello");
      const { stream } = await listening.next();
      await listening[Symbol.asyncDispose]();
      expect(await listening.isDone()).toBe(true);
      expect((await collect(stream)).toString()).toBe("hello");
      stream.end("late");
      expect(await answer).toBe("late");
      expect((await connectOnce(guest(), address)).exitCode).not.toBe(0);
    });

    it("carries 100 MB both ways at once", async () => {
      const address = freshAddress();
      await using listening = await listen(guest(), [address]);
      const argv = ["python3", "-c", CLIENT, address.address, String(address.port)];
      await using client = await guest().exec({ argv, signal: AbortSignal.timeout(55_000) });
      const { stream } = await listening.next();
      const [sent, received] = [createHash("sha1"), createHash("sha1")];
      const echoing = pipeline(stream, stream);
      const sending = pipeline(Readable.from(blocks(sent)), client.stdin);
      for await (const chunk of client.stdout as AsyncIterable<Buffer>) received.update(chunk);
      await Promise.all([echoing, sending]);
      expect(received.digest("hex")).toBe(sent.digest("hex"));
    });

    it("gives all of an answer to a program that ended its own side first", async () => {
      const address = freshAddress();
      await using listening = await listen(guest(), [address]);
      const script = `import socket, sys, hashlib
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
client.shutdown(socket.SHUT_WR)
sys.stdin.read()
data = client.makefile("rb").read()
print(len(data))`;
      await using client = await guest().exec({
        argv: ["python3", "-c", script, address.address, String(address.port)],
        signal: soon(),
      });
      const { stream } = await listening.next();
      const ended = new Promise<void>((resolve) => stream.once("finish", resolve));
      stream.resume().end(Buffer.alloc(60_000));
      await ended;
      client.stdin.end();
      expect((await collect(client.stdout)).toString()).toBe("60000\n");
    });

    it("resets the connection when the host gives it up, and tells the host when a program does", async () => {
      const address = freshAddress();
      await using listening = await listen(guest(), [address]);
      const script = `import socket, struct, sys
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
try: print("end", client.recv(10))
except ConnectionResetError: print("reset")
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
client.close()`;
      const client = guest().run({ argv: ["python3", "-c", script, address.address, String(address.port)], signal: soon() });
      (await listening.next()).stream.destroy();
      const { stream } = await listening.next();
      await expect(finished(stream.resume())).rejects.toMatchObject({ code: "NETWORK_FAILED" });
      expect((await client).stdout.toString()).toBe("reset\n");
    });

    it("is one of two hundred", async () => {
      const addresses = Array.from({ length: 200 }, () => freshAddress());
      const listenings = await Promise.all(addresses.map((address) => listen(guest(), [address])));
      await Promise.all(listenings.map(({ listener }) => listener.held));
      const script = `import socket, sys
for address in sys.argv[1:]:
  client = socket.create_connection((address, 3128))
  client.shutdown(socket.SHUT_WR)
  assert client.makefile().read() == address`;
      const client = guest().run({ argv: ["python3", "-c", script, ...addresses.map(({ address }) => address)], signal: soon() });
      for (const [index, listening] of listenings.entries()) {
        const { stream, local } = await listening.next();
        expect(local).toEqual(addresses[index]);
        stream.end(local.address);
      }
      expect(await client).toMatchObject({ exitCode: 0 });
      expect((await run(guest(), "echo still")).stdout.toString()).toBe("still\n");
      for (const listening of listenings) await listening[Symbol.asyncDispose]();
    });

    /** Another process that holds the same sandbox. */
    function otherProcess(): Guest {
      const { running } = get();
      return createGuest((signal) => running.connect(signal), { ended: running.ended });
    }
  });

  it("a listener ends with its sandbox", async () => {
    const sandbox = await createSandbox(open);
    const listening = await listen(sandbox.guest, [freshAddress()]);
    const waits = await sandbox.guest.listen([freshAddress()], { signal: soon() });
    await waits.held;
    await sandbox[Symbol.asyncDispose]();
    expect(await listening.isDone()).toBe(true);
  });
}

/** Of the sandbox's loopback, which with the fake runtime is the host's: no two tests share one. */
function freshAddress(port = 3_128): SocketAddress {
  return { address: `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`, port };
}

/** One that is still in line when it ends never holds. */
function ignoreEnd(): void {}

interface Listening extends AsyncDisposable {
  readonly listener: GuestListener;
  next(): Promise<ListenedConnection>;
  isDone(): Promise<boolean>;
}

async function listen(guest: Guest, addresses: readonly SocketAddress[]): Promise<Listening> {
  const controller = new AbortController();
  const listener = await guest.listen(addresses, { signal: AbortSignal.any([controller.signal, AbortSignal.timeout(55_000)]) });
  const connections = listener.connections[Symbol.asyncIterator]();
  return {
    listener,
    next: async () => (await connections.next()).value as ListenedConnection,
    isDone: async () => (await connections.next()).done === true,
    [Symbol.asyncDispose]: async () => controller.abort(),
  };
}

async function hear(guest: Guest, { address, port }: SocketAddress, input: string): Promise<string> {
  const argv = ["python3", "-c", CLIENT, address, String(port)];
  return (await guest.run({ argv, input, signal: soon() })).stdout.toString();
}

function connectOnce(guest: Guest, { address, port }: SocketAddress): ReturnType<Guest["run"]> {
  return guest.run({ argv: ["python3", "-c", `import socket; socket.create_connection(("${address}", ${port}))`], signal: soon() });
}

function* blocks(hash: ReturnType<typeof createHash>): Generator<Buffer> {
  for (let index = 0; index < HUNDRED_MEGABYTES / BLOCK; index++) {
    const block = Buffer.alloc(BLOCK, index & 0xff);
    hash.update(block);
    yield block;
  }
}
