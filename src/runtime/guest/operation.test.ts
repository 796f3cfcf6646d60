import { randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { encodeFields } from "../../protocol/fields.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { HeadDecoder } from "../../protocol/head.ts";
import { FRAME, GUEST_ERROR, PAYLOAD_MAX_BYTES } from "../../protocol/wire.ts";
import type { SandboxEnd } from "../contract/run.ts";
import { createGuest } from "./create-guest.ts";
import { guestError } from "./guest-errors.ts";

/** A stream that calls `reply` on each write, and records the written bytes. */
function streamThat(reply: (stream: Duplex) => void, writes: Buffer[] = []): Duplex {
  const stream: Duplex = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk);
      reply(stream);
      done();
    },
  });
  return stream;
}

function untilTold(): { ended: Promise<SandboxEnd>; end: (end: SandboxEnd) => void } {
  let end: (end: SandboxEnd) => void = () => {};
  const ended = new Promise<SandboxEnd>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}

async function readAll(stream: Readable): Promise<{ text: string; error?: unknown }> {
  let text = "";
  try {
    for await (const chunk of stream) text += String(chunk);
    return { text };
  } catch (error) {
    return { text, error };
  }
}

const replies = (stream: Duplex): void => void stream.push(encodeFrame(FRAME.REPLY, 0, encodeFields([])));

it("sends a request in one write", async () => {
  const writes: Buffer[] = [];
  const guest = createGuest(async () => streamThat((stream) => stream.destroy(), writes));
  await expect(guest.run({ argv: ["cat"], input: "some input", signal: AbortSignal.timeout(5_000) })).rejects.toMatchObject({
    code: "GUEST_PROTOCOL",
  });
  expect(writes.length).toBe(1);
});

it("leaves no listener on the caller's signal and no open stream", async () => {
  const { signal } = new AbortController();
  const streams: Duplex[] = [];
  const guest = createGuest(async () => {
    streams.push(streamThat(replies));
    return streams.at(-1) as Duplex;
  });
  for (let count = 0; count < 50; count++) await guest.ping(signal);
  expect(getEventListeners(signal, "abort").length).toBe(0);
  expect(streams.every((stream) => stream.destroyed)).toBe(true);
});

it("reports why the sandbox ended when a stream breaks before the news of the end", async () => {
  const { ended, end } = untilTold();
  const guest = createGuest(async () => streamThat((stream) => stream.destroy()), { ended });
  setTimeout(() => end({ reason: "deadline", at: new Date() }), 0);
  await expect(guest.ping(AbortSignal.timeout(5_000))).rejects.toMatchObject({
    code: "SANDBOX_ENDED",
    message: expect.stringContaining("deadline"),
  });
});

it("fails a stream that is being written with the sandbox's end, even if the transport fails first", async () => {
  const started = encodeFrame(FRAME.STARTED, 0, encodeFields([]));
  const { ended, end } = untilTold();
  const guest = createGuest(
    async () => {
      let writes = 0;
      const stream: Duplex = new Duplex({
        read() {},
        write(_chunk, _encoding, done) {
          if (writes++ > 0) {
            setImmediate(() => end({ reason: "deadline", at: new Date() }));
            return done(new Error("write EPIPE"));
          }
          stream.push(started);
          return done();
        },
      });
      return stream;
    },
    { ended },
  );
  const socket = await guest.dial(80, AbortSignal.timeout(5_000));
  const writing = pipeline(Readable.from([Buffer.alloc(1_000), Buffer.alloc(1_000)]), socket);
  await expect(writing).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
});

it("reads what the guest wrote before the end, though the news of the end comes first", async () => {
  const { ended, end } = untilTold();
  const stream = streamThat(() => void stream.push(encodeFrame(FRAME.STARTED, 0, encodeFields([]))));
  const guest = createGuest(async () => stream, { ended });
  const socket = await guest.dial(80, AbortSignal.timeout(5_000));
  const read = readAll(socket);
  end({ reason: "deadline", at: new Date() });
  await turn();
  stream.push(encodeFrame(FRAME.DATA, 0, Buffer.from("bye")));
  stream.push(null);
  expect(await read).toMatchObject({ text: "bye", error: { code: "SANDBOX_ENDED" } });
});

it("does not wait for long for a stream that stays open after the sandbox's end", async () => {
  const { ended, end } = untilTold();
  const stream = streamThat(() => void stream.push(encodeFrame(FRAME.STARTED, 0, encodeFields([]))));
  const guest = createGuest(async () => stream, { ended });
  const read = readAll(await guest.dial(80, AbortSignal.timeout(10_000)));
  end({ reason: "deadline", at: new Date() });
  expect(await read).toMatchObject({ text: "", error: { code: "SANDBOX_ENDED" } });
  expect(stream.destroyed).toBe(true);
});

it("sends a large chunk of a channel in one write of whole frames", async () => {
  const started = encodeFrame(FRAME.STARTED, 0, encodeFields([]));
  const writes: Buffer[] = [];
  const guest = createGuest(async () => {
    const stream: Duplex = new Duplex({
      read() {},
      writev(chunks, done) {
        writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)));
        if (writes.length === 1) stream.push(started);
        done();
      },
    });
    return stream;
  });
  const socket = await guest.dial(80, AbortSignal.timeout(5_000));
  const sent = randomBytes(2 * PAYLOAD_MAX_BYTES + 5_000);
  await new Promise((resolve) => socket.write(sent, resolve));
  const frames: { readonly type: number; readonly payload: Buffer }[] = [];
  new FrameDecoder((type, _channel, payload) => frames.push({ type, payload })).push(writes[1] ?? Buffer.alloc(0));
  expect(writes.length).toBe(2);
  expect(frames.map(({ type, payload }) => [type, payload.length])).toEqual([
    [FRAME.DATA, PAYLOAD_MAX_BYTES],
    [FRAME.DATA, PAYLOAD_MAX_BYTES],
    [FRAME.DATA, 5_000],
  ]);
  expect(Buffer.concat(frames.map(({ payload }) => payload)).equals(sent)).toBe(true);
});

it("refuses a signal and a number of channels that the guest would refuse", async () => {
  const started = encodeFrame(FRAME.STARTED, 0, encodeFields([["PID", 2]]));
  const guest = createGuest(async () => streamThat((stream) => void stream.push(started)));
  const signal = AbortSignal.timeout(5_000);
  await using command = await guest.exec({ argv: ["sleep", "1"], signal });
  for (const number of [0, 65, 1.5]) expect(() => command.kill(number)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
  await expect(guest.signalProcess(2, 65, { signal })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(guest.exec({ argv: ["true"], channels: 17, signal })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("gives a command without time left a timeout of 1 ms", async () => {
  const writes: Buffer[] = [];
  const guest = createGuest(async () => streamThat((stream) => stream.destroy(), writes));
  await guest.run({ argv: ["true"], timeoutMs: 0, signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
  expect(new HeadDecoder().push(writes[0] ?? Buffer.alloc(0))?.head.fields.number("TIMEOUT_MS")).toBe(1);
});

it("refuses an endless answer", async () => {
  const row = encodeFrame(FRAME.ENTRY, 0, encodeFields([["NAME", "n".repeat(60_000)]]));
  const guest = createGuest(async () => {
    const stream: Duplex = new Duplex({ read: () => void stream.push(row), write: (_chunk, _encoding, done) => done() });
    return stream;
  });
  await expect(guest.files.listXattrs("x", { signal: AbortSignal.timeout(8_000) })).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
});

it("turns every error of the guest into an error of the table, without control characters", () => {
  for (const number of Object.values(GUEST_ERROR)) {
    const payload = Buffer.concat([Buffer.from([0, number, 0, 2]), Buffer.from("stat \u001b[31mx\n: No such file")]);
    expect(guestError(payload).message).not.toMatch(/\p{Cc}/u);
  }
  const known = guestError(Buffer.concat([Buffer.from([0, GUEST_ERROR.NOT_FOUND, 0, 2]), Buffer.from("stat x: No such file")]));
  expect([known.code, known.message.startsWith("stat x: No such file. ")]).toEqual(["FILE_NOT_FOUND", true]);
  expect(guestError(Buffer.from([9, 9, 0, 0])).code).toBe("GUEST_PROTOCOL");
});
