import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LINE_MAX_BYTES } from "./audit-line.ts";
import { readLines, splitLines } from "./read-lines.ts";

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "belljar-lines-"))));
afterEach(() => rm(folder, { recursive: true }));

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** All lines, and how the file ends. */
async function read(content: string) {
  const path = join(folder, "a");
  await writeFile(path, content);
  const lines: string[] = [];
  const torn: boolean[] = [];
  for await (const batch of readLines(path)) {
    lines.push(...batch.lines.map(text));
    torn.push(batch.isTorn);
  }
  return { lines, isTorn: torn.at(-1) ?? false, tornBefore: torn.slice(0, -1).includes(true) };
}

it.each([
  ["", [], false],
  ["\n", [""], false],
  ["a\n", ["a"], false],
  ["a\nb\n", ["a", "b"], false],
  ["a\r\n\nb\n", ["a\r", "", "b"], false],
  ["a", [], true],
  ["a\nb", ["a"], true],
])("reads %j", async (content, lines, isTorn) => {
  expect(await read(content)).toEqual({ lines, isTorn, tornBefore: false });
});

it("reads lines that end in another part of the file than they begin", async () => {
  const lines = Array.from({ length: 40 }, (_, at) => String(at % 10).repeat(10_000));
  expect(await read(`${lines.join("\n")}\n`)).toEqual({ lines, isTorn: false, tornBefore: false });
});

it("ends with a line that is too long for an audit, and does not read on", async () => {
  const long = "x".repeat(3 * LINE_MAX_BYTES);
  expect(await read(`a\n${long}\nb\n`)).toEqual({ lines: ["a"], isTorn: true, tornBefore: false });
  const longest = "x".repeat(LINE_MAX_BYTES);
  expect(await read(`${longest}\nb\n`)).toMatchObject({ lines: [longest, "b"], isTorn: false });
});

it("splits lines by their ends alone", () => {
  expect(splitLines(Buffer.from("a\n\nb\n")).map(text)).toEqual(["a", "", "b"]);
  expect(splitLines(Buffer.alloc(0))).toEqual([]);
});
