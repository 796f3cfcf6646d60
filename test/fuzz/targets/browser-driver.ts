import { deepStrictEqual, ok } from "node:assert/strict";
import { DriverReader, type Said, WireError } from "../../../src/browser/driver-reader.ts";
import { FRAME_KIND, MESSAGE_MAX_BYTES, toFrame } from "../../../src/browser/frames.ts";
import { pureTarget } from "../fuzz-target.ts";

const frame = (value: unknown): Buffer => toFrame("message", Buffer.from(JSON.stringify(value)));
const ANSWER = { type: "answer", id: 1, value: { json: "1" } };

/** A driver's bytes, cut anywhere, are the same messages, or are refused as foreseen. */
export const browserDriver = pureTarget({
  seeds: [
    frame({ type: "ready", version: "1" }),
    Buffer.concat([frame(ANSWER), toFrame("picture", Buffer.from("png")), frame({ ...ANSWER, picture: "image/png" })]),
    frame({ type: "failed", error: { code: "PAGE_CRASHED", message: "x" } }),
  ],
  words: [
    '"type":"answer"',
    '"picture":"image/png"',
    "null",
    Buffer.from([FRAME_KIND.picture, 0, 0x80, 0, 0]),
    Buffer.from([FRAME_KIND.message, 0, 0, 0, 2]),
  ],
  run(input) {
    const whole = read([input]);
    const middle = Math.floor(input.length / 2);
    const parts = read([input.subarray(0, middle), input.subarray(middle)]);
    deepStrictEqual(parts, whole);
    for (const { message } of whole.said) ok(JSON.stringify(message).length <= 2 * MESSAGE_MAX_BYTES);
  },
});

function read(chunks: readonly Buffer[]): { readonly said: readonly Said[]; readonly isRefused: boolean } {
  const [reader, said] = [new DriverReader(), [] as Said[]];
  try {
    for (const chunk of chunks) for (const one of reader.push(chunk)) said.push(one);
    return { said, isRefused: false };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { said, isRefused: true };
  }
}
