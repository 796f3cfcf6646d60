import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Guest, ListenedConnection, SocketAddress } from "../../src/runtime/guest/guest.ts";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import { collect, createSandbox, readUntil, soon, type ContractSandbox } from "../contract/contract-sandbox.ts";
import { buildNativeTests } from "../support/native-guest.ts";

const BINARY = join(import.meta.dirname, "../../native/build/belljar-native");
const DNS: SocketAddress = { address: "127.0.0.1", port: 53 };
/** A program that knows no proxy: it looks a name up as most do, and connects. */
const VISIT = `
import socket
found = socket.getaddrinfo("shop.example", 80, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
client = socket.create_connection(found[0][4])
client.shutdown(socket.SHUT_WR)
print([row[4] for row in found], client.makefile().read())
`;
const SERVE_V6 = `
import socket
server = socket.create_server(("::1", 0), family=socket.AF_INET6)
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
connection.sendall(b"from ::1")
`;

const KINDS = process.getuid?.() === 0 ? (["slot"] as const) : (["single", "subids"] as const);

for (const idMap of KINDS.filter((kind) => findIdMap(kind).kind === kind)) {
  describe(`the network of a sandbox (${idMap})`, () => {
    let home: string;
    let sandbox: ContractSandbox;
    beforeAll(async () => {
      buildNativeTests();
      home = await mkdtemp(join(tmpdir(), "belljar-loopback-"));
      const runtime = openNamespaceRuntime({ home, runtimeDirectory: join(home, "run"), storage: "tmpfs", binary: BINARY, idMap });
      sandbox = await createSandbox(() => runtime);
    }, 120_000);
    afterAll(async () => {
      await sandbox[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    });

    it.each(["user", "root"])("leads a program of %s by name to the host, as if it were there", async (user) => {
      const stop = new AbortController();
      const { guest } = sandbox;
      const server: SocketAddress = { address: "198.18.7.9", port: 80 };
      const listener = await guest.listen([DNS, server], { signal: AbortSignal.any([stop.signal, soon()]) });
      await listener.held;
      const visiting = python(guest, VISIT, user);
      const serving = serve(listener.connections, server.address);
      expect(await visiting).toBe("[('198.18.7.9', 80)] shop of 198.18.7.9:80\n");
      stop.abort();
      await serving;
    });

    it("tells at once that a name cannot be looked up when nobody answers", async () => {
      const script = `import socket\ntry: socket.getaddrinfo("shop.example", 80)\nexcept socket.gaierror as error: print(error.errno == socket.EAI_AGAIN)`;
      expect(await python(sandbox.guest, script)).toBe("True\n");
    });

    it("has no way to any other address", async () => {
      const script = `import socket, errno
for address in ("192.0.2.1", "198.17.255.255", "198.20.0.0"):
  try: socket.create_connection((address, 80))
  except OSError as error: print(error.errno == errno.ENETUNREACH)`;
      expect(await python(sandbox.guest, script)).toBe("True\nTrue\nTrue\n");
    });

    it("lets an ordinary user listen on port 80", async () => {
      expect(await python(sandbox.guest, `import socket; print(socket.create_server(("127.0.0.1", 80)).getsockname()[1])`)).toBe("80\n");
    });

    it("reaches a server inside that listens on ::1 alone", async () => {
      const { guest } = sandbox;
      await using server = await guest.exec({ argv: ["python3", "-c", SERVE_V6], stdin: false, signal: soon() });
      const socket = await guest.dial(Number(await readUntil(server.stdout, "\n")), soon());
      expect((await collect(socket)).toString()).toBe("from ::1");
      socket.destroy();
    });
  });
}

async function python(guest: Guest, script: string, user = "user"): Promise<string> {
  const { stdout, stderr } = await guest.run({ argv: ["python3", "-c", script], user, signal: soon() });
  return `${stdout.toString()}${stderr.toString()}`;
}

/** Answers every question for an address, and every visitor with where he came. */
async function serve(connections: AsyncIterable<ListenedConnection>, address: string): Promise<void> {
  for await (const { stream, local } of connections) {
    if (local.port === DNS.port) void answerNames(stream, address);
    else stream.end(`shop of ${local.address}:${local.port}`);
  }
}

async function answerNames(stream: Duplex, address: string): Promise<void> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const question = chunk.subarray(2);
    const isV4 = question.readUInt16BE(question.length - 4) === 1;
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split(".").map(Number)]);
    const answer = Buffer.concat([question, isV4 ? record : Buffer.alloc(0)]);
    answer.writeUInt16BE(0x8180, 2);
    answer.writeUInt16BE(isV4 ? 1 : 0, 6);
    stream.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 0xff]), answer]));
  }
}
