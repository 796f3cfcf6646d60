import { deepStrictEqual } from "node:assert/strict";
import { encodeFrame, FrameDecoder } from "../../../src/protocol/frames.ts";
import { encodeHead, HeadDecoder } from "../../../src/protocol/head.ts";
import { FRAME, OPERATION } from "../../../src/protocol/wire.ts";
import { pureTarget } from "../fuzz-target.ts";
import { refused } from "./refused.ts";

const ERROR_PAYLOAD = Buffer.from([0, 1, 0, 0, 110, 111]);

/** What a guest says: the first byte says where the stream is cut into chunks. However it is cut, the same is read. */
export const frames = pureTarget({
  seeds: [
    Buffer.concat([Buffer.from([3]), encodeFrame(FRAME.DATA, 1, Buffer.from("hello")), encodeFrame(FRAME.END, 0)]),
    Buffer.concat([Buffer.from([7]), encodeFrame(FRAME.ERROR, 0, ERROR_PAYLOAD), encodeFrame(FRAME.CREDIT, 1, Buffer.alloc(4))]),
    Buffer.concat([Buffer.from([2]), encodeFrame(FRAME.EXIT, 0, Buffer.alloc(36))]),
    Buffer.concat([
      Buffer.from([5]),
      encodeHead(OPERATION.EXEC, [
        ["ARG", "true"],
        ["TIMEOUT_MS", 50],
      ]),
    ]),
  ],
  run(input) {
    const size = Math.max(1, input[0] ?? 1);
    const bytes = input.subarray(1);
    deepStrictEqual(readFrames(chunksOf(bytes, size)), readFrames([bytes]));
    deepStrictEqual(readHeads(chunksOf(bytes, size)), readHeads([bytes]));
  },
});

function chunksOf(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_value, index) => bytes.subarray(index * size, (index + 1) * size));
}

/** DATA may come in parts: they are joined. */
function readFrames(chunks: readonly Buffer[]): unknown {
  const read: { type: number; channel: number; payload: Buffer }[] = [];
  let isFresh = true;
  const decoder = new FrameDecoder((type, channel, payload) => {
    const last = read.at(-1);
    if (type === FRAME.DATA && last?.type === type && last.channel === channel && !isFresh) {
      last.payload = Buffer.concat([last.payload, payload]);
    } else read.push({ type, channel, payload });
    isFresh = type !== FRAME.DATA;
  });
  return { read, error: refused(() => chunks.forEach((chunk) => decoder.push(chunk))) };
}

function readHeads(chunks: readonly Buffer[]): unknown {
  const decoder = new HeadDecoder();
  let head: unknown;
  const error = refused(() => {
    for (const chunk of chunks) head ??= decoder.push(chunk)?.head;
  });
  return { head, error };
}
