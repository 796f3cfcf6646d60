import { randomBytes } from "node:crypto";
import { mkdtemp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createSigner } from "./audit-chain.ts";
import { keepSegments, segmentBytes } from "./audit-keep.ts";
import { SegmentIndex } from "./segment-index.ts";

const DAY_MS = 86_400_000;
const NOW = Date.parse("2026-03-04T05:06:07.089Z");
const KEEP = { ageMs: 10 * DAY_MS, bytes: 16 * 65_536 };

let home: string;
let folder: string;
let index: SegmentIndex;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "belljar-keep-"));
  folder = join(home, "audit");
  await mkdir(folder);
  await mkdir(join(home, "index"));
  index = new SegmentIndex(join(home, "index"), createSigner({ id: "k", bytes: randomBytes(32) }).index);
});
afterEach(() => rm(home, { recursive: true }));

/** The name of a segment that began so long ago. */
function nameOf(agoMs: number): string {
  return `${new Date(NOW - agoMs).toISOString().replaceAll(/[-:.]/g, "")}-0123456789ab-1.jsonl`;
}

async function addSegment(agoMs: number, bytes = 1): Promise<string> {
  const name = nameOf(agoMs);
  await writeFile(join(folder, name), Buffer.alloc(bytes, "x"));
  await index.place(name);
  return name;
}

const keep = async (more: { readonly own?: string; readonly bytes?: number } = {}) => {
  const removed = await keepSegments({ folder, index, keep: { ...KEEP, ...more }, own: more.own, nowMs: NOW });
  return { removed: removed.map(({ file, why }) => [file, why]), files: (await readdir(folder)).toSorted() };
};

it("removes a segment when its last line is older than the age, and no other", async () => {
  const old = await addSegment(11 * DAY_MS + 1);
  const young = await addSegment(11 * DAY_MS);
  expect(await keep()).toEqual({ removed: [[old, "age"]], files: [young] });
  expect((await index.read()).entries.map(({ file }) => file)).toEqual([young]);
  expect(await keep()).toEqual({ removed: [], files: [young] });
});

it("never removes the segment that this process writes", async () => {
  const own = await addSegment(99 * DAY_MS);
  expect(await keep({ own })).toEqual({ removed: [], files: [own] });
});

it("removes the oldest segments until the others fit, with room for one more", async () => {
  const names = [];
  for (let ago = 9; ago > 0; ago--) names.push(await addSegment(ago * DAY_MS, 2 * 65_536));
  expect(segmentBytes(KEEP)).toBe(2 * 65_536);
  expect(await keep()).toEqual({
    removed: [
      [names[0], "size"],
      [names[1], "size"],
    ],
    files: names.slice(2),
  });
});

it("removes what a killed process has begun, once it is a day old", async () => {
  const [old, young, large] = [nameOf(DAY_MS + 1), nameOf(DAY_MS), nameOf(2 * DAY_MS)];
  const known = await addSegment(3 * DAY_MS);
  const other = old.replace(".jsonl", ".txt");
  for (const name of [old, young, other, "notes.jsonl"]) await writeFile(join(folder, name), "x".repeat(1_024));
  await writeFile(join(folder, large), "x".repeat(1_025));
  expect(await keep()).toEqual({ removed: [], files: [known, large, young, other, "notes.jsonl"].toSorted() });
});

it("finishes a removal that a killed process has noted", async () => {
  const [first, second] = [await addSegment(2 * DAY_MS), await addSegment(DAY_MS)];
  const [entry] = (await index.read()).entries;
  if (entry) await index.noteRemoval(entry, { atMs: NOW, why: "age" });
  expect(await keep()).toEqual({ removed: [], files: [second] });
  expect((await index.read()).entries.map(({ file }) => file)).not.toContain(first);
});

it("takes segments of an eighth of the whole, and never larger than 16 MiB", () => {
  expect([8, 9, 2 ** 27, 2 ** 30].map((bytes) => segmentBytes({ ...KEEP, bytes }))).toEqual([1, 2, 2 ** 24, 2 ** 24]);
});
