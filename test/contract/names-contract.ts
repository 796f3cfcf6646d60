import { randomInt } from "node:crypto";
import type { Duplex } from "node:stream";
import { describe, expect } from "vitest";
import type { Guest, ListenedConnection, SocketAddress } from "../../src/runtime/guest/guest.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import { itNeeds, readUntil, shareSandbox, soon, type ContractFeatures, type OpenRuntime } from "./contract-sandbox.ts";

/** The questions that the guest keeps open at once. */
const OPEN_MAX = 32;
const ANSWER_MAX = 512;

/** What the programs of these tests begin with. `at`: where the sandbox's names are asked. */
const CLIENT = `
import errno, socket, struct, sys
at = (sys.argv[1], int(sys.argv[2]))
def udp():
  client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  client.settimeout(20)
  return client
def question(id, kind=1, size=0):
  message = struct.pack(">HHHHHH", id, 0x100, 1, 0, 0, 0) + b"\\4shop\\7example\\0" + struct.pack(">HH", kind, 1)
  return message + bytes(max(0, size - len(message)))
def ask(id):
  client = udp()
  client.sendto(question(id), at)
  return struct.unpack(">H", client.recvfrom(512)[0][:2])[0]
def bind(kind, share):
  server = socket.socket(socket.AF_INET, kind)
  server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, share)
  server.bind(at)
  return server
def taken(kind, share):
  try: bind(kind, share).close()
  except OSError as error: return errno.errorcode[error.errno]
  return "free"
`;

export function namesContract(open: OpenRuntime, features: ContractFeatures): void {
  const test = itNeeds(features, "isolation");
  describe("a listener at port 53", () => {
    const { get, guest } = shareSandbox(open);

    test("answers what one socket asks over UDP, the one question beside the other", async () => {
      const address = freshAddress();
      await using names = await serve(guest(), [address], echo);
      const script = `client = udp()
for id, kind in ((7, 1), (8, 28)): client.sendto(question(id, kind), at)
heard = [client.recvfrom(512) for _ in range(2)]
print(sorted(struct.unpack(">HH", data[:4]) for data, _ in heard), {peer for _, peer in heard} == {at})`;
      expect(await python(guest(), address, script)).toBe("[(7, 33152), (8, 33152)] True\n");
      expect(names.lengths).toEqual([30, 30]);
    });

    test("keeps a bounded number of questions open, and answers all of a hundred", async () => {
      const address = freshAddress();
      const waiting: (() => void)[] = [];
      let most = 0;
      let isAnswering = false;
      const answerWaiting = (): void => {
        isAnswering = true;
        for (const answer of waiting.splice(0)) answer();
      };
      await using _names = await serve(guest(), [address], (message, stream) => {
        if (isAnswering) return echo(message, stream);
        most = waiting.push(() => echo(message, stream));
        // Until a program has run, further questions would come too.
        if (most === OPEN_MAX) void python(guest(), address, "").then(answerWaiting);
      });
      const script = `clients = [udp() for _ in range(100)]
for id, client in enumerate(clients): client.sendto(question(id), at)
print(sum(struct.unpack(">H", client.recv(512)[:2])[0] == id for id, client in enumerate(clients)))`;
      expect(await python(guest(), address, script)).toBe("100\n");
      expect(most).toBe(OPEN_MAX);
    });

    test("gives up questions that nobody answers, and then answers later ones", async () => {
      const address = freshAddress();
      let count = 0;
      await using _names = await serve(guest(), [address], (message, stream) => {
        if (++count > OPEN_MAX) echo(message, stream);
      });
      const script = `client = udp()
for id in range(${OPEN_MAX}): client.sendto(question(id), at)
print(ask(99))`;
      expect(await python(guest(), address, script)).toBe("99\n");
    });

    test("drops datagrams that are empty or too long, and whatever the host does not answer", async () => {
      const address = freshAddress();
      await using names = await serve(guest(), [address], (message, stream) =>
        message.length === 30 ? echo(message, stream) : void stream.end(),
      );
      const script = `client = udp()
for data in (b"", bytes(4097), bytes(60000), b"x", question(1, 1, 4096)): client.sendto(data, at)
print(ask(2))`;
      expect(await python(guest(), address, script)).toBe("2\n");
      expect(names.lengths.toSorted((one, other) => one - other)).toEqual([1, 30, 4096]);
    });

    test("tells a program to ask over TCP for an answer of more than 512 bytes", async () => {
      const address = freshAddress();
      await using _names = await serve(guest(), [address], (message, stream) => {
        const isShort = message.readUInt16BE(0) === 1;
        echo(Buffer.concat([message, Buffer.alloc(ANSWER_MAX - message.length + (isShort ? 0 : 1))]), stream);
      });
      const script = `for id in (1, 2):
  client = udp()
  client.sendto(question(id), at)
  data = client.recv(4096)
  print(len(data), bool(data[2] & 2), bool(data[2] & 128), data[12:30] == question(id)[12:])`;
      expect(await python(guest(), address, script)).toBe("512 False True True\n30 True True True\n");
    });

    test("holds the UDP address beside the one of TCP, at no other port, and as long as it lives", async () => {
      const other = freshAddress(54);
      const address = freshAddress();
      const script = "print([taken(kind, share) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM) for share in (0, 1)])";
      {
        await using _names = await serve(guest(), [other, address], echo);
        expect(await python(guest(), other, script)).toBe("['free', 'free', 'EADDRINUSE', 'EADDRINUSE']\n");
        expect(await python(guest(), address, script)).toBe("['EADDRINUSE', 'EADDRINUSE', 'EADDRINUSE', 'EADDRINUSE']\n");
      }
      const released = `while taken(socket.SOCK_DGRAM, 0) != "free": pass
client = udp()
client.connect(at)
client.send(question(1))
try: client.recv(512)
except ConnectionRefusedError: print("refused")`;
      expect(await python(guest(), address, released)).toBe("refused\n");
    });

    test("is taken over by the next in line while a question is open", async () => {
      const address = freshAddress();
      const { running } = get();
      const other = createGuest((signal) => running.connect(signal), { ended: running.ended });
      let isOpen = (): void => {};
      const opened = new Promise<void>((resolve) => (isOpen = resolve));
      const first = await serve(guest(), [address], () => isOpen());
      const next = await other.listen([address], { signal: soon() });
      await python(guest(), address, "udp().sendto(question(4), at)");
      await opened;
      await first[Symbol.asyncDispose]();
      await next.held;
      void answerAll(next.connections, echo);
      expect(await python(guest(), address, "print(ask(5))")).toBe("5\n");
    });

    test("is refused where a program inside holds the UDP address, and holds nothing then", async () => {
      const address = freshAddress();
      await using program = await hold(guest(), address, 0);
      await readUntil(program.stdout, "holds");
      const refused = await guest().listen([freshAddress(), address], { signal: soon() });
      await expect(refused.held).rejects.toMatchObject({ code: "PORT_TAKEN" });
      expect(await python(guest(), address, "print(taken(socket.SOCK_STREAM, 0))")).toBe("free\n");
    });

    test("gets the questions beside an older socket that shares the address, as a copy of its own that is still open", async () => {
      const address = freshAddress();
      await using program = await hold(guest(), address, 1);
      await readUntil(program.stdout, "holds");
      await using _names = await serve(guest(), [address], echo);
      expect(await python(guest(), address, "print(ask(6))")).toBe("6\n");
    });
  });
}

/** Of the sandbox's loopback: no two tests share one. */
function freshAddress(port = 53): SocketAddress {
  return { address: `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`, port };
}

async function python(guest: Guest, { address, port }: SocketAddress, script: string): Promise<string> {
  const { stdout, stderr } = await guest.run({ argv: ["python3", "-c", CLIENT + script, address, String(port)], signal: soon() });
  return `${stdout.toString()}${stderr.toString()}`;
}

/** A program inside that holds the UDP address until it is disposed. */
function hold(guest: Guest, { address, port }: SocketAddress, share: 0 | 1): ReturnType<Guest["exec"]> {
  const script = `server = bind(socket.SOCK_DGRAM, ${share})\nprint("holds", flush=True)\nsys.stdin.read()`;
  return guest.exec({ argv: ["python3", "-c", CLIENT + script, address, String(port)], signal: soon() });
}

type Answer = (message: Buffer, stream: Duplex) => void;

interface Names extends AsyncDisposable {
  /** The lengths of the messages that came. */
  readonly lengths: readonly number[];
}

/** Holds the addresses for the host, and gives each message that comes over TCP to `answer`. */
async function serve(guest: Guest, addresses: readonly SocketAddress[], answer: Answer): Promise<Names> {
  const controller = new AbortController();
  const { held, connections } = await guest.listen(addresses, { signal: AbortSignal.any([controller.signal, soon()]) });
  await held;
  const lengths: number[] = [];
  const ended = answerAll(connections, (message, stream) => {
    lengths.push(message.length);
    answer(message, stream);
  });
  return {
    lengths,
    [Symbol.asyncDispose]: async () => {
      controller.abort();
      await ended;
    },
  };
}

async function answerAll(connections: AsyncIterable<ListenedConnection>, answer: Answer): Promise<void> {
  for await (const { stream } of connections) answerOne(stream, answer);
}

/** A program that gave up resets its connection. */
function answerOne(stream: Duplex, answer: Answer): void {
  stream.on("error", () => stream.destroy());
  let bytes = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length >= 2 && bytes.length === 2 + bytes.readUInt16BE(0)) answer(bytes.subarray(2), stream);
  });
}

/** The question, as an answer. */
function echo(message: Buffer, stream: Duplex): void {
  message.writeUInt16BE(0x8180, 2);
  stream.write(Buffer.concat([Buffer.from([message.length >> 8, message.length & 0xff]), message]));
}
