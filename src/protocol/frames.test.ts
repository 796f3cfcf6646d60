import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { encodeExit, parseExit } from "./exit.ts";
import { encodeFrame, encodeFrameHeader, encodeResize, FrameDecoder } from "./frames.ts";
import { encodeHead, HeadDecoder } from "./head.ts";
import { FRAME, OPERATION, PAYLOAD_MAX_BYTES } from "./wire.ts";

const frame = fc.record({
  type: fc.constantFrom(FRAME.DATA, FRAME.STARTED, FRAME.REPLY, FRAME.ENTRY, FRAME.EVENT),
  channel: fc.integer({ min: 0, max: 255 }),
  payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
});

describe("frames", () => {
  it("are decoded as they were sent, however the stream is cut", () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(({ type, channel, payload }) => encodeFrame(type, channel, payload)));
        expect(joinData(decode(pieces(bytes, cuts)))).toEqual(joinData(frames));
      }),
    );
  });

  it("are complete at every boundary", () => {
    const bytes = Buffer.concat([encodeFrame(FRAME.DATA, 1, Buffer.from("hello")), encodeFrame(FRAME.END, 1), encodeResize(30, 100)]);
    for (let at = 0; at <= bytes.length; at++) {
      expect(joinData(decode([bytes.subarray(0, at), bytes.subarray(at)])).length).toBe(3);
    }
  });

  it("of data are handed on as they come, and others whole", () => {
    const data = encodeFrame(FRAME.DATA, 1, Buffer.from("hello"));
    const reply = encodeFrame(FRAME.REPLY, 0, Buffer.from("whole"));
    const payloads = decode([data.subarray(0, 10), data.subarray(10), reply.subarray(0, 10), reply.subarray(10)]).map(({ payload }) =>
      payload.toString(),
    );
    expect(payloads).toEqual(["he", "llo", "whole"]);
  });

  it("of any bytes are decoded or refused, without any other error", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 }), (chunks) => {
        expect(isDecodedOrRefused(chunks.map((chunk) => Buffer.from(chunk)))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("with one changed byte are decoded or refused, without any other error", () => {
    const bytes = Buffer.concat([
      encodeFrame(FRAME.DATA, 1, Buffer.alloc(40)),
      encodeFrame(FRAME.END, 1),
      encodeFrame(FRAME.REPLY, 0, Buffer.alloc(3)),
    ]);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, value) => {
        const broken = Buffer.from(bytes);
        broken[at] = value;
        expect(isDecodedOrRefused([broken])).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it("that are too long, of an unknown type or with reserved bits are refused at the header", () => {
    const tooLong = encodeFrameHeader(FRAME.DATA, 0, PAYLOAD_MAX_BYTES + 1);
    const reserved = encodeFrame(FRAME.DATA, 0);
    reserved[2] = 1;
    const credit = encodeFrame(FRAME.CREDIT, 0, Buffer.alloc(3));
    for (const bytes of [tooLong, encodeFrame(0, 0), encodeFrame(13, 0), reserved, credit, encodeFrame(FRAME.ERROR, 0, Buffer.alloc(1))]) {
      expect(() => decode([bytes])).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }));
    }
  });

  it("stop when `stop` is called, even within a chunk", () => {
    const seen: number[] = [];
    const decoder = new FrameDecoder((_type, channel) => {
      seen.push(channel);
      decoder.stop();
    });
    decoder.push(Buffer.concat([encodeFrame(FRAME.END, 1), encodeFrame(FRAME.END, 2)]));
    expect(seen).toEqual([1]);
  });

  it("do not keep a large chunk alive for a small payload", () => {
    const seen: Buffer[] = [];
    const decoder = new FrameDecoder((_type, _channel, payload) => seen.push(payload));
    const chunk = Buffer.concat([encodeFrame(FRAME.DATA, 1, Buffer.from("x")), encodeFrame(FRAME.DATA, 1, Buffer.alloc(60_000))]);
    decoder.push(chunk);
    expect(seen[0]?.toString()).toBe("x");
    expect(seen[0]?.buffer === chunk.buffer).toBe(false);
  });
});

describe("a request head", () => {
  it("is decoded as it was sent, with the bytes behind it, however it is cut", () => {
    const bytes = Buffer.concat([encodeHead(OPERATION.EXEC, [["ARG", "true"]]), Buffer.from("rest")]);
    for (let at = 0; at <= bytes.length; at++) {
      const decoder = new HeadDecoder();
      const early = decoder.push(bytes.subarray(0, at));
      const whole = early ?? decoder.push(bytes.subarray(at));
      expect(whole?.head.operation).toBe(OPERATION.EXEC);
      expect(whole?.head.fields.all("ARG").map(String)).toEqual(["true"]);
    }
  });

  it("of another version is refused with an error code of its own", () => {
    const bytes = encodeHead(OPERATION.PING, []);
    bytes[2] = 9;
    expect(() => new HeadDecoder().push(bytes)).toThrow(expect.objectContaining({ code: "GUEST_VERSION" }));
  });

  it("that is invalid or too long is refused", () => {
    const tooLong = encodeHead(OPERATION.PING, []);
    tooLong.writeUInt32BE(1_000_000, 4);
    for (const bytes of [Buffer.from("GET / HTTP/1.1\r\n"), tooLong]) {
      expect(() => new HeadDecoder().push(bytes)).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }));
    }
  });
});

it("an exit is decoded as it was sent", () => {
  const exit = { code: 137, signal: 9, flags: 3, durationUs: 5n, cpuUs: 2n ** 40n, memoryPeakBytes: 2n ** 33n };
  expect(parseExit(encodeExit(exit))).toEqual(exit);
});

function decode(chunks: readonly Buffer[]): { type: number; channel: number; payload: Buffer }[] {
  const frames: { type: number; channel: number; payload: Buffer }[] = [];
  const decoder = new FrameDecoder((type, channel, payload) => frames.push({ type, channel, payload: Buffer.from(payload) }));
  for (const chunk of chunks) decoder.push(chunk);
  return frames;
}

type Frames = readonly { readonly type: number; readonly channel: number; readonly payload: Buffer }[];

/** Joins neighbouring DATA frames of the same channel. */
function joinData(frames: Frames): Frames {
  const joined: { type: number; channel: number; payload: Buffer }[] = [];
  for (const next of frames) {
    const last = joined.at(-1);
    const continues = next.type === FRAME.DATA && last?.type === FRAME.DATA && last.channel === next.channel;
    if (continues) last.payload = Buffer.concat([last.payload, next.payload]);
    else joined.push({ ...next });
  }
  return joined;
}

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = cuts[index % cuts.length] ?? 1;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  return parts;
}

function isDecodedOrRefused(chunks: readonly Buffer[]): boolean {
  try {
    return decode(chunks).length >= 0;
  } catch (error) {
    return error instanceof BelljarError && error.code === "GUEST_PROTOCOL";
  }
}
