import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lookOnHost } from "./look-on-host.ts";

const isRoot = process.getuid?.() === 0;

it.each([
  ["a folder", "", "folder"],
  ["a file", "file", "file"],
  ["nothing", "none", undefined],
  ["what lies below a file", "file/below", undefined],
  ["a name that is too long", "x".repeat(5000), undefined],
  ["a name that no file can have", "x\0y", undefined],
])("tells what %s is", (_what, name, found) => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-host-"));
  writeFileSync(join(folder, "file"), "");
  expect(lookOnHost(join(folder, name))).toBe(found);
  rmSync(folder, { recursive: true });
});

it.skipIf(isRoot)("counts as there what this user may not look for (root may look for all)", () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-host-"));
  mkdirSync(join(folder, "closed"));
  chmodSync(join(folder, "closed"), 0);
  expect(lookOnHost(join(folder, "closed", "any"))).toBe("file");
  rmSync(folder, { recursive: true });
});
