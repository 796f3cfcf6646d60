import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSigner } from "./audit-chain.ts";
import { SegmentIndex } from "./segment-index.ts";

let folder: string;
let index: SegmentIndex;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belljar-index-"));
  index = open();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const KEY = randomBytes(32);
const open = (bytes = KEY) => new SegmentIndex(folder, createSigner({ id: "k", bytes }).index);
const file = (number: number) => `20260101T00000000${number}Z-0123456789ab-${number}.jsonl`;
const MARK = { sequence: 7, lineMac: "ab".repeat(32), state: "open" } as const;
const names = () => readdirSync(folder).toSorted();

async function placeAll(count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) expect(await index.place(file(number))).toBe(number);
}

/** Removes the segments with these numbers, as `why` says. */
async function note(numbers: readonly number[], why: "age" | "size" = "age"): Promise<void> {
  for (const entry of (await index.read()).entries) if (numbers.includes(entry.number)) await index.noteRemoval(entry, { atMs: 5, why });
}

/** Replaces the text of a link. */
function rewrite(name: string, change: (text: string) => string): void {
  const text = readlinkSync(join(folder, name));
  unlinkSync(join(folder, name));
  symlinkSync(change(text), join(folder, name));
}

describe("the index", () => {
  it("lists segments in the order in which they were placed, with their marks", async () => {
    await placeAll(3);
    await index.mark(2, { ...MARK, sequence: 1 });
    await index.mark(2, MARK);
    await index.mark(3, { ...MARK, state: "closed" });
    const { base, entries, problems } = await index.read();
    expect({ base: base.number, problems }).toEqual({ base: 0, problems: [] });
    expect(entries.map(({ number, file: name, mark }) => [number, name, mark])).toEqual([
      [1, file(1), undefined],
      [2, file(2), MARK],
      [3, file(3), { ...MARK, state: "closed" }],
    ]);
  });

  it("is empty where there is none", async () => {
    rmSync(folder, { recursive: true });
    expect((await index.read()).entries).toEqual([]);
  });

  it("gives each of several writers at once a number of its own", async () => {
    const numbers = await Promise.all(Array.from({ length: 8 }, (_, at) => open().place(file(at + 1))));
    expect(numbers.toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect((await index.read()).problems).toEqual([]);
  });

  it("does not look at what is no link, or not complete yet", async () => {
    await placeAll(1);
    writeFileSync(join(folder, "2"), "");
    mkdirSync(join(folder, "3"));
    symlinkSync("x", join(folder, "4.new"));
    const { entries, problems } = await index.read();
    expect([entries.length, problems]).toEqual([1, []]);
  });
});

describe("removed segments", () => {
  it("are noted with when and why", async () => {
    await placeAll(2);
    await note([1]);
    await note([2], "size");
    expect((await index.read()).entries.map(({ removed }) => removed)).toEqual([
      { atMs: 5, why: "age" },
      { atMs: 5, why: "size" },
    ]);
  });

  it("are folded from the oldest on, up to the first that is there, and never the last entry", async () => {
    await placeAll(5);
    await index.mark(1, MARK);
    await note([1, 2, 4]);
    await index.fold(await index.read(), 9);
    expect(names()).toEqual(["3", "4", "4.removed", "5", "base-2"]);
    expect(await index.read()).toMatchObject({
      base: { number: 2, atMs: 9 },
      entries: [{ number: 3 }, { number: 4 }, { number: 5 }],
      problems: [],
    });
    await note([3, 5]);
    await index.fold(await index.read(), 10);
    expect(names()).toEqual(["5", "5.removed", "base-4"]);
    expect(await index.read()).toMatchObject({ base: { number: 4, atMs: 10 }, problems: [] });
    expect(await index.place(file(6))).toBe(6);
    expect((await index.read()).problems).toEqual([]);
  });

  it("are not folded if none is removed, or the first is there", async () => {
    await placeAll(3);
    await index.fold(await index.read(), 9);
    await note([2]);
    await index.fold(await index.read(), 9);
    expect(names()).toEqual(["1", "2", "2.removed", "3"]);
  });
});

describe("a fault is told", () => {
  it.each<[string, () => void, RegExp]>([
    ["an entry that was removed", () => unlinkSync(join(folder, "2")), /^entries 2 to 2 of the index are missing$/],
    ["an entry of another file", () => rewrite("2", (text) => text.replace(/-2\.jsonl/, "-9.jsonl")), /^entry 2 of the index does not fit/],
    ["an entry that is none", () => rewrite("3", () => "made up"), /^entry 3 of the index does not fit/],
    ["a mark of another line", () => rewrite("1.mark", (text) => text.replace(/^7/, "8")), /^the mark of .*-1\.jsonl in the index/],
    ["a mark of another state", () => rewrite("1.mark", (text) => text.replace("open", "closed")), /^the mark of/],
    [
      "a removal at another time",
      () => rewrite("3.removed", (text) => text.replace(/^5/, "6")),
      /^the removal of .*-3\.jsonl in the index/,
    ],
    ["a removal for another reason", () => rewrite("3.removed", (text) => text.replace("age", "size")), /^the removal of/],
  ])("%s", async (_, change, problem) => {
    await placeAll(3);
    await index.mark(1, MARK);
    await note([3]);
    expect((await index.read()).problems).toEqual([]);
    change();
    expect((await index.read()).problems[0]).toMatch(problem);
  });

  it("a mark or a removal that does not fit counts as none", async () => {
    await placeAll(2);
    await index.mark(1, MARK);
    await note([1]);
    rewrite("1.mark", (text) => text.replace(/^7/, "8"));
    rewrite("1.removed", (text) => text.replace(/^5/, "6"));
    const [entry] = (await index.read()).entries;
    expect([entry?.mark, entry?.removed]).toEqual([undefined, undefined]);
  });

  it("a base with another time", async () => {
    await placeAll(3);
    await note([1, 2]);
    await index.fold(await index.read(), 9);
    rewrite("base-2", (text) => text.replace(" 9 ", " 8 "));
    expect((await index.read()).problems).toEqual(["base 2 of the index does not fit the key"]);
  });

  it("every entry under another key", async () => {
    await placeAll(2);
    expect(await open(randomBytes(32)).read()).toMatchObject({
      entries: [],
      problems: [/1/, /2/].map((one) => expect.stringMatching(one) as string),
    });
  });
});
