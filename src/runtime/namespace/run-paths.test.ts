import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimRunFolder, noteStorage, notedStorage, readEnd, runFolder, runName, unwrittenEnd } from "./run-paths.ts";

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

it("reads how a run ended, and knows of no end that nobody wrote", async () => {
  expect(await readEnd(run(1))).toBeUndefined();
  claimRunFolder(run(1));
  const write = (text: string) => writeFileSync(join(runFolder(run(1)), "end.json"), text);
  write('{"reason":"deadline","at":5}');
  expect(await readEnd(run(1))).toEqual({ reason: "deadline", at: new Date(5) });
  write('{"reason":"stopped","at":5,"kept":true,"more":1}');
  expect(await readEnd(run(1))).toEqual({ reason: "stopped", at: new Date(5), kept: true });
  for (const left of ["", "\0\0", "  \n"]) {
    write(left);
    expect(await readEnd(run(1)), "a power cut has taken it").toBeUndefined();
  }
  for (const text of ["null", '{"reason":"unheard of","at":5,"kept":true}']) {
    write(text);
    await expect(readEnd(run(1))).rejects.toThrow(failed);
  }
});

it("keeps the files of a later run whose end nobody wrote", () => {
  const end = { reason: "keeper_lost", at: new Date(5) } as const;
  expect([unwrittenEnd(run(1), end), unwrittenEnd(run(2), end)]).toEqual([end, { ...end, kept: true }]);
});

it("names the runs of the whole machine apart", () => {
  expect([runName({ id: "a", generation: 1 }), runName({ id: "a", generation: 12 })]).toEqual(["a-1", "a-12"]);
});
