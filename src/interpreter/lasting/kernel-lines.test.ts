import { expect, it } from "vitest";
import type { KernelMessage } from "./kernel-lines.ts";
import { kernelLines } from "./kernel-lines.ts";

function readLines(...chunks: readonly (string | Buffer)[]) {
  const messages: KernelMessage[] = [];
  const sizes: number[] = [];
  let skipped = 0;
  const lines = kernelLines({
    take: (message, size) => {
      messages.push(message);
      sizes.push(size);
    },
    skip: () => (skipped += 1),
  });
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  return { messages, sizes, skipped };
}

it("reads messages however they are cut, in order", () => {
  const whole = Buffer.from('{"type":"stdout","text":"é\\n"}\n{"type":"done","run":"t","execution_count":3}\n');
  const wanted = [
    { type: "stdout", text: "é\n" },
    { type: "done", run: "t", execution_count: 3 },
  ];
  for (let at = 0; at <= whole.length; at++) {
    expect(readLines(whole.subarray(0, at), whole.subarray(at)).messages).toEqual(wanted);
  }
});

it("skips half lines, other text and what is no message", () => {
  const junk = [
    "",
    "{",
    '{"type":',
    "null",
    "[]",
    '{"type":"stdout"}',
    '{"type":"eval","text":""}',
    '{"type":"exit","code":256}',
    "\0\xff",
    " {}",
  ];
  for (const line of junk) expect(readLines(`${line}\n{"type":"exit","code":7}\n`).messages).toEqual([{ type: "exit", code: 7 }]);
});

it("skips a line that is longer than 8 MiB, says so, and reads the next one", () => {
  const text = "x".repeat(1_048_576);
  const fits = `{"type":"stdout","text":"${"x".repeat(8 * 1_048_576 - 27)}"}`;
  expect(readLines(`${fits}\n`)).toMatchObject({ skipped: 0, messages: [{ type: "stdout" }] });
  expect(readLines(`${fits} \n{"type":"exit","code":1}\n`)).toMatchObject({ skipped: 1, messages: [{ type: "exit" }] });
  const long = readLines(`{"type":"stdout","text":"`, ...Array<string>(9).fill(text), '"}\n{"type":"exit","code":1}\n');
  expect(long).toMatchObject({ skipped: 1, messages: [{ type: "exit" }] });
});

it("reads 200,000 values in a line and no more, counts none within a text, and tells what they take", () => {
  const list = (count: number) => `{"type":"result","data":{"application/json":[${"1,".repeat(count)}1]}}\n`;
  const [few, many] = [list(199_000), list(200_000)];
  expect(readLines(few).messages).toMatchObject([{ type: "result" }]);
  expect(readLines(few).sizes[0]).toBeGreaterThan(199_000 * 64);
  expect(readLines(many)).toMatchObject({ messages: [], skipped: 1 });
  const brackets = `{"type":"stdout","text":${JSON.stringify('[{",\\'.repeat(200_000))}}\n`;
  expect(readLines(brackets).messages).toMatchObject([{ type: "stdout" }]);
  expect(readLines(`{"type":"result","data":${"[".repeat(7_000_000)}\n`).messages).toEqual([]);
});

it("holds a line of many small parts", () => {
  const line = Buffer.from(`{"type":"stdout","text":"${"ab".repeat(5_000)}"}\n`);
  expect(readLines(...Array.from(line, (byte) => Buffer.from([byte]))).messages).toEqual([{ type: "stdout", text: "ab".repeat(5_000) }]);
});

it("passes over a text that never ends", () => {
  expect(readLines(`{"type":"stdout","text":"${'\\"'.repeat(3_000_000)}\n`).messages).toEqual([]);
  expect(readLines(`{"${"\\".repeat(7_000_000)}"\n`).messages).toEqual([]);
});
