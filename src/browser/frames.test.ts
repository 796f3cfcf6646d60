import { expect, it } from "vitest";
import { FrameError, FrameReader, MESSAGE_MAX_BYTES, toFrame } from "./frames.ts";

const FRAMES = [
  { kind: "message", bytes: Buffer.from("{}") },
  { kind: "message", bytes: Buffer.alloc(0) },
  { kind: "picture", bytes: Buffer.alloc(1_000, "picture") },
  { kind: "message", bytes: Buffer.from("null") },
] as const;

it("reads frames as they were sent, wherever their bytes are cut", () => {
  const sent = Buffer.concat(FRAMES.map(({ kind, bytes }) => toFrame(kind, bytes)));
  for (const size of [1, 2, 3, 4, 5, 6, 7, 100, sent.length]) {
    const reader = new FrameReader();
    const read = [];
    for (let at = 0; at < sent.length; at += size) read.push(...reader.push(sent.subarray(at, at + size)));
    expect(read, `by ${size}`).toEqual(FRAMES);
  }
});

it("takes no byte of a frame that is too long, or of no kind", () => {
  const head = Buffer.from([1, 0, 0, 0, 0]);
  head.writeUInt32BE(MESSAGE_MAX_BYTES + 1, 1);
  expect(() => [...new FrameReader().push(head)]).toThrow(FrameError);
  expect(() => [...new FrameReader().push(Buffer.from([7, 0, 0, 0, 0]))]).toThrow(FrameError);
});
