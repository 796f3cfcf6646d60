import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readHead } from "./read-head.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

/** Reads up to a semicolon. */
const parse = (bytes: Buffer) => {
  const end = bytes.indexOf(";");
  return end < 0 ? undefined : { value: bytes.toString("utf8", 0, end), used: end + 1 };
};
const OPTIONS = { maxBytes: 8, timeoutMs: 1_000 };

it("reads the first message, and leaves the rest in the stream, paused", async () => {
  const stream = new PassThrough();
  const read = readHead(stream, parse, OPTIONS);
  stream.write("ab");
  stream.write("c;rest");
  expect(await read).toBe("abc");
  expect([stream.isPaused(), String(stream.read()), vi.getTimerCount()]).toEqual([true, "rest", 0]);
  expect([stream.listenerCount("data"), stream.listenerCount("end")]).toEqual([0, 0]);
});

it("reads one message after the other", async () => {
  const stream = new PassThrough();
  stream.end("a;b;c");
  expect([await readHead(stream, parse, OPTIONS), await readHead(stream, parse, OPTIONS)]).toEqual(["a", "b"]);
  expect(await readHead(stream, parse, OPTIONS)).toBeUndefined();
});

it("gives up when the peer ends or breaks off", async () => {
  const [ended, broken] = [new PassThrough(), new PassThrough()];
  const reads = [ended, broken].map((stream) => readHead(stream, parse, OPTIONS));
  ended.end("ab");
  broken.destroy();
  expect(await Promise.all(reads)).toEqual([undefined, undefined]);
  expect(vi.getTimerCount()).toBe(0);
});

it("gives up after its time, and not before", async () => {
  const stream = new PassThrough();
  let isDone = false;
  const read = readHead(stream, parse, OPTIONS).finally(() => (isDone = true));
  vi.advanceTimersByTime(999);
  await Promise.resolve();
  expect(isDone).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await read).toBeUndefined();
});

it("gives up with one byte, or one piece, too many", async () => {
  const [full, over] = [new PassThrough(), new PassThrough()];
  const reads = [full, over].map((stream) => readHead(stream, parse, OPTIONS));
  full.write("12345678");
  over.write("123456789");
  expect(await reads[1]).toBeUndefined();
  full.write(";");
  expect(await reads[0]).toBe("12345678");
  const empty = { parse: (bytes: Buffer) => (bytes.length < 1_025 ? undefined : { value: bytes.length, used: 0 }) };
  const pieces = new PassThrough();
  const many = readHead(pieces, empty.parse, { maxBytes: 10_000, timeoutMs: 1_000 });
  pieces.on("data", () => undefined);
  for (let count = 0; count < 1_025; count += 1) {
    pieces.write("x");
    await Promise.resolve();
  }
  expect(await many).toBe(1_025);
});
