import { expect, it } from "vitest";
import { findLanguage } from "./language.ts";
import { assertFileName, collectFiles } from "./program-files.ts";

const PYTHON = findLanguage("python");

it.each([
  ["", "is empty"],
  ["/etc/passwd", "is absolute"],
  ["../up", 'leads out with ".."'],
  ["a/../../b", 'leads out with ".."'],
  ["..", 'leads out with ".."'],
  ["a//b", "has an empty component"],
  ["a/", "has an empty component"],
  ["./a", "has an empty component"],
  ["a\0b", "holds a NUL byte"],
  ["x".repeat(256), "has a component of over 255 bytes"],
  ["é".repeat(128), "has a component of over 255 bytes"],
  ["a/".repeat(600) + "b", "is longer than 1024 bytes"],
])("refuses the file name %j", (name, problem) => {
  expect(() => assertFileName(name)).toThrowError(
    expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringContaining(problem) }),
  );
});

it.each(["main.py", "lib/deep/util.py", "-rf", "a b\nc", "..hidden", "x".repeat(255)])("takes the file name %j", (name) => {
  expect(() => assertFileName(name)).not.toThrow();
});

it("puts the entry first, with the language's default name", () => {
  const files = collectFiles(PYTHON, { language: "python", code: "1", files: [{ name: "b.py", content: "2" }] });
  expect(files.map(({ name }) => name)).toEqual(["main.py", "b.py"]);
});

it("refuses two files of the same name", () => {
  const program = { language: "python", code: "1", files: [{ name: "main.py", content: "2" }] };
  expect(() => collectFiles(PYTHON, program)).toThrowError(/Two files are named "main.py"/);
});

it("refuses too many files and too many bytes", () => {
  const many = Array.from({ length: 256 }, (_, index) => ({ name: `f${index}`, content: "" }));
  expect(() => collectFiles(PYTHON, { language: "python", code: "", files: many })).toThrowError(/may have 256 files, not 257/);
  expect(() => collectFiles(PYTHON, { language: "python", code: "x".repeat(16 * 1_048_576 + 1) })).toThrowError(/bytes in all/);
});
