import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimRunFolder, noteStorage, notedStorage } from "./run-paths.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "bj-run-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const run = (generation: number) => ({ id: "a1b2c3d4e5f6g7h8i9j0", generation, folder });
const failed = expect.objectContaining({ code: "RUNTIME_FAILED" }) as Error;

it("lets a first run be started once, and a later one again", () => {
  claimRunFolder(run(1));
  expect(() => claimRunFolder(run(1))).toThrow(failed);
  claimRunFolder(run(2));
  claimRunFolder(run(2));
});

it("starts no run of a sandbox that has no folder", () => {
  expect(() => claimRunFolder({ ...run(1), folder: join(folder, "gone") })).toThrow(failed);
});

it("remembers where the layers were put first", () => {
  expect(notedStorage(run(1))).toBeUndefined();
  claimRunFolder(run(1));
  noteStorage(run(1), { kind: "tmpfs", holder: "/run/a:b" });
  noteStorage(run(1), { kind: "btrfs" });
  expect(notedStorage(run(2))).toEqual({ kind: "tmpfs", holder: "/run/a:b" });
});

it("trusts no note that is not one", () => {
  claimRunFolder(run(1));
  writeFileSync(join(folder, "runs", "storage"), "tmpfs");
  expect(() => notedStorage(run(1))).toThrow(failed);
});
