import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type KeptProgram, KeptPrograms } from "./kept-programs.ts";

const DAY_MS = 24 * 3_600_000;

let home: string;
let folder: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "bj-kept-"));
  folder = join(home, "packages");
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** `index` makes the key of its lock. */
const program = (index: number, version = "1.0.0"): KeptProgram => {
  const hash = String(index).padStart(40, "0");
  return { program: "server", version, lock: { wish: hash, key: hash, installer: "npm", text: "{}" } };
};
const place = (name: string, owner = "local") => ({ owner, name });

async function pathOf(of: { readonly owner: string; readonly name: string }, kept: KeptPrograms): Promise<string> {
  const before = new Set(await readdir(folder, { recursive: true }).catch(() => []));
  await kept.keep(of, program(0));
  const added = (await readdir(folder, { recursive: true })).find((name) => name.endsWith(".json") && !before.has(name));
  return join(folder, added ?? "");
}

it("lets the first of several processes decide, until somebody says otherwise", async () => {
  const [one, other] = [new KeptPrograms(folder), new KeptPrograms(folder)];
  expect(await one.keepFirst(place("a"), program(1))).toEqual(program(1));
  expect(await other.keepFirst(place("a"), program(2))).toEqual(program(1));
  await other.keep(place("a"), program(2));
  expect(await one.read(place("a"))).toEqual(program(2));
  expect(await one.read(place("a", "other"))).toBeUndefined();
});

it("decides anew for a file that is damaged", async () => {
  const kept = new KeptPrograms(folder);
  const path = await pathOf(place("a"), kept);
  await writeFile(path, "{");
  expect(await kept.read(place("a"))).toBeUndefined();
  expect(await kept.keepFirst(place("a"), program(3))).toEqual(program(3));
  expect(await kept.read(place("a"))).toEqual(program(3));
});

it("forgets what nobody has started for a month", async () => {
  const kept = new KeptPrograms(folder);
  const paths = [await pathOf(place("old"), kept), await pathOf(place("new"), kept)];
  await kept.keep(place("new"), program(1));
  const old = new Date(Date.now() - 31 * DAY_MS);
  for (const path of paths) await utimes(path, old, old);
  await kept.touch(place("new"));
  expect([...(await kept.removeOld())]).toEqual([program(1).lock.key]);
  expect(await kept.read(place("old"))).toBeUndefined();
});

it("keeps the 64 of an owner that were started last, and those of others", async () => {
  const kept = new KeptPrograms(folder);
  await kept.keep(place("theirs", "other"), program(999));
  for (let index = 0; index < 66; index += 1) {
    await kept.keep(place(`p${index}`), program(index));
    if (index === 1) await backdateAll();
  }
  const keys = await kept.removeOld();
  expect(keys.size).toBe(65);
  expect([await kept.read(place("p0")), await kept.read(place("p1"))]).toEqual([undefined, undefined]);
  expect(await kept.read(place("theirs", "other"))).toBeDefined();
});

it("needs no folder to know of nothing", async () => {
  expect((await new KeptPrograms(folder).removeOld()).size).toBe(0);
  await expect(stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
});

async function backdateAll(): Promise<void> {
  const earlier = new Date(Date.now() - DAY_MS);
  for (const name of await readdir(folder, { recursive: true }))
    if (name.endsWith(".json")) await utimes(join(folder, name), earlier, earlier);
}
