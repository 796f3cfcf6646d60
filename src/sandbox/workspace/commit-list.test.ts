import { expect, it } from "vitest";
import { readCommits, readCount, since } from "./commit-list.ts";

const SHA1 = "0123456789".repeat(4);
const SHA256 = "abcdef01".repeat(8);

it.each([
  ["0\n", 0],
  ["42\n", 42],
  ["999999999\n", 999_999_999],
  ["1000000000\n", 0],
  ["42", 0],
  ["42\n\n", 0],
  ["x\n42\n", 0],
  ["-1\n", 0],
  ["1e3\n", 0],
  ["0x10\n", 0],
  ["", 0],
])("a count of %j is %d commits", (text, commits) => {
  expect(readCount(Buffer.from(text))).toBe(commits);
});

it("a git that says nothing has no commits", () => {
  expect(readCount(undefined)).toBe(0);
});

it("only whole names of objects are commits", () => {
  const lines = [
    SHA1,
    SHA256,
    SHA1.slice(1),
    `${SHA1}0`,
    `--all`,
    `-${SHA1.slice(1)}`,
    SHA1.toUpperCase().replaceAll("0", "A"),
    ` ${SHA1}`,
  ];
  expect(readCommits(Buffer.from(`${lines.join("\n")}\n`))).toEqual([SHA1, SHA256]);
  expect(readCommits(Buffer.from(""))).toEqual([]);
});

it("all commits of HEAD are new where none is known", () => {
  expect(since([])).toEqual(["--ignore-missing", "HEAD"]);
  expect(since([SHA1, SHA256])).toEqual(["--ignore-missing", "HEAD", "--not", SHA1, SHA256]);
});
