import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isOnHost } from "./is-on-host.ts";

const isRoot = process.getuid?.() === 0;

it.each([
  ["a folder", "", true],
  ["a file", "file", true],
  ["nothing", "none", false],
  ["what lies below a file", "file/below", false],
  ["a name that is too long", "x".repeat(5000), false],
  ["a name that no file can have", "x\0y", false],
])("tells whether %s is there", (_what, name, isThere) => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-host-"));
  writeFileSync(join(folder, "file"), "");
  expect(isOnHost(join(folder, name))).toBe(isThere);
  rmSync(folder, { recursive: true });
});

it.skipIf(isRoot)("counts as there what this user may not look for (root may look for all)", () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-host-"));
  mkdirSync(join(folder, "closed"));
  chmodSync(join(folder, "closed"), 0);
  expect(isOnHost(join(folder, "closed", "any"))).toBe(true);
  rmSync(folder, { recursive: true });
});
