import { expect, it } from "vitest";
import type { KernelMessage } from "./kernel-lines.ts";
import { KernelLines, parseLine } from "./kernel-lines.ts";

function readLines(...chunks: readonly (string | Buffer)[]) {
  const messages: KernelMessage[] = [];
  let tooLong = 0;
  const lines = new KernelLines(
    (message) => messages.push(message),
    () => (tooLong += 1),
  );
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  return { messages, tooLong };
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

it("says when a line is longer than 8 MiB, and holds no more of it", () => {
  const text = "x".repeat(1_048_576);
  const fits = `{"type":"stdout","text":"${"x".repeat(8 * 1_048_576 - 27)}"}\n`;
  expect(readLines(fits)).toMatchObject({ tooLong: 0, messages: [{ type: "stdout" }] });
  expect(readLines(`{"type":"stdout","text":"`, ...Array<string>(9).fill(text)).tooLong).toBeGreaterThan(0);
});

it("reads 200,000 values in a line and no more, and counts none within a text", () => {
  const list = (count: number) => Buffer.from(`{"type":"result","data":{"application/json":[${"1,".repeat(count)}1]}}`);
  expect(parseLine(list(199_000))).toMatchObject({ type: "result" });
  expect(parseLine(list(200_000))).toBeUndefined();
  const brackets = `{"type":"stdout","text":${JSON.stringify('[{",\\'.repeat(200_000))}}`;
  expect(parseLine(Buffer.from(brackets))).toMatchObject({ type: "stdout" });
  expect(parseLine(Buffer.from(`{"type":"result","data":${"[".repeat(7_000_000)}`))).toBeUndefined();
});

it("reads a text that never ends in one pass", () => {
  expect(parseLine(Buffer.from(`{"type":"stdout","text":"${'\\"'.repeat(3_000_000)}`))).toBeUndefined();
  expect(parseLine(Buffer.from(`{"${"\\".repeat(7_000_000)}"`))).toBeUndefined();
});
