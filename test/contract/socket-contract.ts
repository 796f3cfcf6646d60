import type { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { collect, execOptions, readUntil, run, shareSandbox, soon, type OpenRuntime } from "./contract-sandbox.ts";

const MEGABYTES = 5 * 1_048_576;

/** Prints its port, then serves each connection with `body`. */
const SERVER = `
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
`;
const ECHO = `${SERVER}
while data := connection.recv(65536): connection.sendall(data)
connection.shutdown(socket.SHUT_WR)
`;
const CLIENT = `
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect("../../run/belljar/" + sys.argv[1] + ".sock")
client.sendall(b"hello")
client.shutdown(socket.SHUT_WR)
print(client.makefile().read())
`;

export function socketContract(open: OpenRuntime): void {
  describe("a port inside", () => {
    const { guest } = shareSandbox(open);

    it("is dialled, and carries bytes both ways to the end", async () => {
      await using server = await guest().exec({ argv: ["python3", "-c", ECHO], stdin: false, signal: soon() });
      const port = Number(await readUntil(server.stdout, "\n"));
      const socket = await guest().dial(port, soon());
      const [echoed] = await Promise.all([collect(socket), writeAll(socket, Buffer.alloc(MEGABYTES, "belljar!"))]);
      expect(echoed.equals(Buffer.alloc(MEGABYTES, "belljar!"))).toBe(true);
      server.stdout.resume();
      expect(await server.exited).toMatchObject({ exitCode: 0 });
    });

    it("that nobody listens on refuses", async () => {
      const closed = await run(guest(), `python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'`);
      await expect(guest().dial(Number(closed.stdout), soon())).rejects.toMatchObject({ code: "PORT_REFUSED" });
    });

    it("sees its client go", async () => {
      const script = `${SERVER}\nprint("got", len(connection.recv(10)), flush=True)`;
      await using server = await guest().exec({ argv: ["python3", "-c", script], stdin: false, signal: soon() });
      const socket = await guest().dial(Number(await readUntil(server.stdout, "\n")), soon());
      socket.destroy();
      expect(await readUntil(server.stdout, "\n")).toBe("got 0\n");
    });
  });

  describe("a service of the host", () => {
    const { guest } = shareSandbox(open);

    it("accepts connections from inside, one after another", async () => {
      const controller = new AbortController();
      const answered: string[] = [];
      const serving = (async () => {
        for await (const connection of guest().accept("echo", { signal: controller.signal })) {
          const heard = (await collect(connection.stream)).toString();
          connection.stream.end(`${heard} ${typeof connection.uid}`);
          answered.push(heard);
        }
      })();
      await guest().ping(soon());
      for (let count = 0; count < 5; count++) expect(await callService("echo")).toBe("hello number\n");
      controller.abort();
      await serving;
      expect(answered).toEqual(Array.from({ length: 5 }, () => "hello"));
    });

    it("keeps a connection that was taken when it stops accepting", async () => {
      const controller = new AbortController();
      const connections = guest().accept("stops", { signal: controller.signal })[Symbol.asyncIterator]();
      const first = connections.next();
      const calling = callService("stops");
      const { value } = (await first) as { readonly value: { readonly stream: Duplex } };
      controller.abort();
      expect((await connections.next()).done).toBe(true);
      expect((await collect(value.stream)).toString()).toBe("hello");
      value.stream.end("late");
      expect(await calling).toBe("late\n");
    });

    /** Retries inside until the socket is there: the guest makes it when the first ACCEPT comes. */
    async function callService(name: string): Promise<string> {
      const script = `until [ -S ../../run/belljar/${name}.sock ]; do sleep 0.01; done; exec python3 -c "$CLIENT" ${name}`;
      await using command = await guest().exec(execOptions(script, { stdin: false, env: { CLIENT } }));
      return (await collect(command.stdout)).toString();
    }
  });
}

function writeAll(socket: Duplex, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket.end(bytes, resolve));
}
