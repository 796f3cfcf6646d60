import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type KeptEntry, KeptIndex } from "./kept-index.ts";

const ENTRY: KeptEntry = { id: "a1b2c3d4e5f6g7h8i9j0", generation: 2, stoppedMs: 5, bytes: 7, isInMemory: true, isAsked: false };
const OTHER: KeptEntry = { ...ENTRY, id: "b".repeat(20), isInMemory: false, isAsked: true };

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "belljar-kept-"))));
afterEach(() => rmSync(home, { recursive: true }));

it("is empty before anything was noted", () => {
  expect(new KeptIndex(home).entries().size).toBe(0);
});

it("tells every process what was noted, and forgets it", () => {
  const [one, two] = [new KeptIndex(home), new KeptIndex(home)];
  one.note(ENTRY);
  expect([...two.entries().values()]).toEqual([ENTRY]);
  two.note(OTHER);
  expect(one.entries()).toEqual(new Map([ENTRY, OTHER].map((entry) => [entry.id, entry])));
  two.forget(ENTRY.id);
  one.forget(ENTRY.id);
  expect([...one.entries().values()]).toEqual([OTHER]);
});

it("has one entry for each sandbox, the latest", () => {
  const index = new KeptIndex(home);
  index.note(ENTRY);
  index.note({ ...ENTRY, generation: 3, bytes: 9 });
  expect([...new KeptIndex(home).entries().values()]).toEqual([{ ...ENTRY, generation: 3, bytes: 9 }]);
  expect(readdirSync(join(home, "kept"))).toHaveLength(1);
});

it("sees a change of another process also after it has read an old folder", () => {
  const [one, two] = [new KeptIndex(home), new KeptIndex(home)];
  one.note(ENTRY);
  const old = new Date(1_000);
  utimesSync(join(home, "kept"), old, old);
  expect(two.entries().size).toBe(1);
  one.note(OTHER);
  expect(two.entries().size).toBe(2);
});

it("leaves out files whose names say nothing", () => {
  const index = new KeptIndex(home);
  index.note(ENTRY);
  for (const name of ["x", `${ENTRY.id}.1.1.-1.disk.asked`, `../${ENTRY.id}`.replace("/", "."), `${ENTRY.id}.1.1.1.tape.asked`])
    writeFileSync(join(home, "kept", name), "");
  expect([...new KeptIndex(home).entries().values()]).toEqual([ENTRY]);
});
