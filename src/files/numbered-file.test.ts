import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { highestNumbers, NumberedFile, watchNumberedFiles } from "./numbered-file.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "bj-numbered-"))));
afterEach(() => rm(folder, { recursive: true }));

const DAMAGED = -1;
const open = (name = "count", where = folder) =>
  new NumberedFile<number>({
    folder: where,
    name,
    title: "the count",
    serialise: String,
    parse: (text) => (/^\d+$/.test(text) ? Number(text) : DAMAGED),
  });

it("has the first value, with the number 0, until something is written", async () => {
  expect(await open().read(7)).toEqual({ number: 0, value: 7 });
  expect(await open("count", join(folder, "none")).read(undefined)).toEqual({ number: 0, value: undefined });
});

it("keeps only the last value, in a file that only this user can read", async () => {
  const file = open("count", join(folder, "made"));
  await file.change(0, (value) => value + 1);
  expect(await file.change(0, (value) => value + 1)).toEqual({ number: 2, value: 2 });
  expect(await open("count", join(folder, "made")).read(0)).toEqual({ number: 2, value: 2 });
  expect(await readdir(join(folder, "made"))).toEqual(["count.2.json"]);
});

it("writes nothing for a change that gives the same value back", async () => {
  expect(await open().change(3, (value) => value)).toEqual({ number: 0, value: 3 });
  expect(await readdir(folder)).toEqual([]);
});

it("makes each of several concurrent changes exactly once", async () => {
  const changers = Array.from({ length: 8 }, async () => {
    const file = open();
    for (let round = 0; round < 25; round += 1) await file.change(0, (value) => value + 1);
  });
  await Promise.all(changers);
  expect(await open().read(0)).toEqual({ number: 200, value: 200 });
  expect(await readdir(folder)).toEqual(["count.200.json"]);
});

it("stores a JSON object as a JSON object, and returns it unchanged", async () => {
  const serialise = (value: object) => JSON.stringify(value);
  const parse = (text: string) => JSON.parse(text) as object;
  const file = new NumberedFile<object>({ folder, name: "state", title: "the state", serialise, parse });
  await file.change({}, () => ({}));
  expect(await file.read(undefined)).toEqual({ number: 1, value: {} });
  for (const phase of ["one", "two"]) await file.change({}, () => ({ phase }));
  expect(JSON.parse(await readFile(join(folder, "state.3.json"), "utf8"))).toMatchObject({ phase: "two" });
  expect(await file.read(undefined)).toEqual({ number: 3, value: { phase: "two" } });
});

it("gives each number to one caller only", async () => {
  const taken = await Promise.all(Array.from({ length: 20 }, (_, value) => open().take({ number: 1, value })));
  expect(taken.filter(Boolean)).toHaveLength(1);
  expect(await open().read(0)).toEqual({ number: 1, value: taken.indexOf(true) });
});

it("refuses a number below the highest, even if it is free again", async () => {
  const file = open();
  for (const number of [1, 2, 3]) expect(await file.take({ number, value: number })).toBe(true);
  expect(await file.take({ number: 2, value: 9 })).toBe(false);
  expect(await readdir(folder)).toEqual(["count.3.json"]);
  expect(await file.read(0)).toEqual({ number: 3, value: 3 });
});

it("orders numbers by value, not as text", async () => {
  const file = open();
  await writeFile(join(folder, "count.9.json"), "9");
  await writeFile(join(folder, "count.10.json"), "10");
  expect(await file.read(0)).toEqual({ number: 10, value: 10 });
});

it("ignores the leftovers of a killed process, and names that are no number of this file", async () => {
  const file = open();
  await file.take({ number: 1, value: 1 });
  for (const name of [".new-0123456789abcdef", "count.2.json.new", "count.02.json", "count.x.json", "other.5.json", "count.5.7.json"])
    await writeFile(join(folder, name), "99");
  expect(await file.read(0)).toEqual({ number: 1, value: 1 });
  expect(await file.change(0, (value) => value + 1)).toEqual({ number: 2, value: 2 });
  expect(await readFile(join(folder, "other.5.json"), "utf8")).toBe("99");
});

it("lets `parse` decide the value of a damaged file", async () => {
  await writeFile(join(folder, "count.4.json"), "4x");
  expect(await open().read(0)).toEqual({ number: 4, value: DAMAGED });
  expect(await open().change(0, () => 8)).toEqual({ number: 5, value: 8 });
});

it("gives up if others keep changing the file", async () => {
  const file = open();
  const changed = file.change(0, async (value) => {
    await open().change(0, (other) => other + 1);
    return value + 1;
  });
  await expect(changed).rejects.toMatchObject({ code: "RUNTIME_FAILED", message: "Other processes keep changing the count: try again" });
});

it("removes all its numbers and no other file", async () => {
  await open().take({ number: 1, value: 1 });
  await writeFile(join(folder, "count.7.json"), "7");
  await open("other").take({ number: 1, value: 1 });
  await open().remove();
  await open().remove();
  expect(await readdir(folder)).toEqual(["other.1.json"]);
});

it("tells the highest number of each file of a folder", () => {
  const names = ["a.1.json", "a.10.json", "a.2.json", "b.3.json", "c.json", ".new-x"];
  expect(highestNumbers(names)).toEqual(new Map(Object.entries({ a: 10, b: 3 })));
});

it("reads at once what it reads otherwise", async () => {
  expect(open().readNow("none")).toEqual({ number: 0, value: "none" });
  for (let round = 0; round < 3; round += 1) await open().change(0, (value) => value + 1);
  expect(open().readNow(0)).toEqual({ number: 3, value: 3 });
  const names = await readdir(folder);
  await open().change(0, (value) => value + 1);
  expect(open().readNow(0, names)).toEqual({ number: 4, value: 4 }); // the file was replaced since it was listed
});

it("reports new files", async () => {
  const seen = new EventEmitter();
  const watcher = watchNumberedFiles(folder, { changed: (name) => seen.emit(name), failed: (cause) => seen.emit("error", cause) });
  try {
    const told = once(seen, "count");
    await open().take({ number: 1, value: 1 });
    await told;
  } finally {
    watcher.close();
  }
});
