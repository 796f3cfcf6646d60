import { once } from "node:events";
import { Duplex, duplexPair } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { createOneSandbox, SANDBOX_ID } from "../../../test/support/one-sandbox.ts";
import { BelljarError } from "../../errors.ts";
import type { RequestAudit } from "../audit-requests.ts";
import { openGuestStream } from "../../remote/server-connection.ts";
import { createGateway } from "../gateway.ts";

const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;

async function openServer(connect: (signal: AbortSignal) => Promise<Duplex>, audit?: RequestAudit) {
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createOneSandbox(connect),
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new TypeError("not asked here")),
    ...(audit && { audit }),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const address = { url: (await gateway.listen()).href };
  return { gateway, address, [Symbol.asyncDispose]: () => gateway.close(0) };
}

/** The guest's side is given to the test. */
function createPair(): { readonly connect: () => Promise<Duplex>; readonly guest: Duplex } {
  const [host, guest] = duplexPair();
  return { connect: async () => host, guest };
}

/** Unlike `once`, whether or not an error comes first. */
function closed(stream: Duplex): Promise<void> {
  stream.on("error", () => undefined);
  return new Promise((resolve) => stream.once("close", resolve));
}

it("carries bytes both ways", async () => {
  const { connect, guest } = createPair();
  await using server = await openServer(connect);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  stream.write(Buffer.from([0, 255, 10, 13]));
  expect((await once(guest, "data"))[0]).toEqual(Buffer.from([0, 255, 10, 13]));
  guest.write("answer");
  expect(String((await once(stream, "data"))[0])).toBe("answer");
  stream.destroy();
});

it("delivers all that the guest wrote before it closed", async () => {
  const { connect, guest } = createPair();
  await using server = await openServer(connect);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  guest.resume();
  guest.end(Buffer.alloc(8 * MIB, 7));
  const received = await buffer(stream);
  expect(received.equals(Buffer.alloc(8 * MIB, 7))).toBe(true);
});

it("closes the guest's stream when the client goes away", async () => {
  const { connect, guest } = createPair();
  await using server = await openServer(connect);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  guest.resume();
  stream.destroy();
  await once(guest, "end");
});

it("closes the client's stream when the guest's breaks", async () => {
  const [host] = duplexPair();
  await using server = await openServer(async () => host);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  stream.resume();
  host.destroy(new Error("broken"));
  await closed(stream);
});

it("closes open streams when the server closes", async () => {
  const [host] = duplexPair();
  await using server = await openServer(async () => host);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  stream.resume();
  await Promise.all([closed(stream), closed(host), server.gateway.close(0)]);
});

it("holds the guest back while the client does not read", async () => {
  let sent = 0;
  let received = 0;
  let ahead = 0;
  const guest = new Duplex({
    read() {
      sent += 65_536;
      ahead = Math.max(ahead, sent - received);
      this.push(sent > 64 * MIB ? null : Buffer.alloc(65_536));
    },
    write: (_chunk, _encoding, done) => done(),
  });
  await using server = await openServer(async () => guest);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    received += chunk.length;
    await nextTurn();
  }
  expect(received).toBe(64 * MIB);
  expect(ahead).toBeLessThan(24 * MIB);
});

it("holds the client back while the guest does not read", async () => {
  const [host, guest] = duplexPair();
  await using server = await openServer(async () => host);
  const stream = await openGuestStream(server.address, SANDBOX_ID, NEVER);
  let isFull = false;
  let written = 0;
  while (!isFull && written < 256 * MIB) {
    isFull = !stream.write(Buffer.alloc(MIB)) && !(await drainedSoon(stream));
    written += MIB;
  }
  expect(written).toBeLessThan(64 * MIB);
  guest.resume();
  await once(stream, "drain");
  stream.destroy();
});

/** True when the stream took what it held within so many turns of the loop. */
async function drainedSoon(stream: Duplex): Promise<boolean> {
  for (let turn = 0; turn < 500; turn += 1) {
    if (!stream.writableNeedDrain) return true;
    await nextTurn();
  }
  return false;
}

it("opens no stream while the audit cannot be written", async () => {
  let connected = 0;
  const connect = async (): Promise<Duplex> => {
    connected += 1;
    return duplexPair()[0];
  };
  const refuse = (): never => {
    throw new BelljarError("AUDIT_FAILED", "No space");
  };
  await using server = await openServer(connect, { assertWritable: refuse, recordRequest: () => undefined });
  await expect(openGuestStream(server.address, SANDBOX_ID, NEVER)).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  expect(connected).toBe(0);
});

it("writes a line of the audit for each stream", async () => {
  const lines: unknown[] = [];
  const audit = { assertWritable: () => undefined, recordRequest: (line: unknown) => void lines.push(line) };
  await using server = await openServer(createPair().connect, audit);
  (await openGuestStream(server.address, SANDBOX_ID, NEVER)).destroy();
  expect(lines).toMatchObject([{ request: "GET /v1/sandboxes/:id/guest", outcome: "ok", sandbox: SANDBOX_ID, principal: "local" }]);
});

it("answers an unknown sandbox with its error", async () => {
  await using server = await openServer(createPair().connect);
  await expect(openGuestStream(server.address, "zzzzzzzz", NEVER)).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
});

it("gives up connecting to the guest when the client cancels", async () => {
  let isGone: () => void;
  const gone = new Promise<void>((resolve) => (isGone = resolve));
  const cancel = new AbortController();
  await using server = await openServer((signal) => {
    signal.addEventListener("abort", () => isGone());
    cancel.abort();
    return new Promise(() => undefined);
  });
  await expect(openGuestStream(server.address, SANDBOX_ID, cancel.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  await gone;
});

it("says that no server answers", async () => {
  await using server = await openServer(createPair().connect);
  await server.gateway.close(0);
  await expect(openGuestStream(server.address, SANDBOX_ID, NEVER)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
});
