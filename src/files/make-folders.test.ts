import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFoldersNow } from "./make-folders.ts";

function openFolder() {
  const folder = mkdtempSync(join(tmpdir(), "belljar-folders-"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

it("makes a folder with its parents, and takes one that is there", () => {
  using own = openFolder();
  const path = join(own.folder, "a/b/c");
  makeFoldersNow(path, 0o700);
  expect([statSync(path).mode & 0o777, statSync(join(own.folder, "a")).mode & 0o777]).toEqual([0o700, 0o700]);
  makeFoldersNow(path, 0o700);
});

it("throws where something else is there", () => {
  using own = openFolder();
  writeFileSync(join(own.folder, "file"), "");
  mkdirSync(join(own.folder, "folder"));
  const failed = (code: string) => expect.objectContaining({ code });
  expect(() => makeFoldersNow(join(own.folder, "file"), 0o700)).toThrow(failed("ENOTDIR"));
  expect(() => makeFoldersNow(join(own.folder, "file/below"), 0o700)).toThrow(failed("ENOTDIR"));
});

it("ends where no folder can be made", () => {
  expect(() => makeFoldersNow("/proc/belljar/below", 0o700)).toThrow(expect.objectContaining({ code: "ENOENT" }));
});
