import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openOwnListeners } from "./own-listeners.ts";

const HOST = "127.0.0.1";
let folder: string;
let directory: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bj-own-"));
  directory = join(folder, "a/b");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("knows its claims until they are released, in a folder for this user alone", async () => {
  const listeners = openOwnListeners(directory);
  expect(await listeners.has(6060)).toBe(false);
  const [one, other] = [await listeners.claim({ host: HOST, port: 6060 }), await listeners.claim({ host: HOST, port: 6060 })];
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(readdirSync(directory).every((name) => /^6060-[0-9a-f]{12}$/.test(name))).toBe(true);
  await one[Symbol.asyncDispose]();
  expect([await listeners.has(6060), await openOwnListeners(directory).has(6060), await listeners.has(606)]).toEqual([true, true, false]);
  await other[Symbol.asyncDispose]();
  expect([await listeners.has(6060), readdirSync(directory)]).toEqual([false, []]);
});

it("knows its own claims though somebody removes their files", async () => {
  const listeners = openOwnListeners(directory);
  const claimed = await listeners.claim({ host: HOST, port: 6060 });
  rmSync(directory, { recursive: true });
  expect([await listeners.has(6060), await openOwnListeners(directory).has(6060)]).toEqual([true, false]);
  await claimed[Symbol.asyncDispose]();
  expect(await listeners.has(6060)).toBe(false);
});

it("chooses a free port", async () => {
  const listeners = openOwnListeners(directory);
  const claimed = await listeners.claim({ host: HOST, port: 0 });
  expect(claimed.port).toBeGreaterThan(0);
  expect(await listeners.has(claimed.port)).toBe(true);
  await claimed[Symbol.asyncDispose]();
});

it("removes claims of dead processes, and counts what it cannot read", async () => {
  const listeners = openOwnListeners(directory);
  await (await listeners.claim({ host: HOST, port: 1 }))[Symbol.asyncDispose]();
  for (const name of ["6060-0123456789ab", "new-0123456789ab", "7070-0123456789ab"]) writeFileSync(join(directory, name), "");
  expect(await listeners.has(6060)).toBe(false);
  expect(readdirSync(directory)).toEqual(["7070-0123456789ab"]);
  const notFolder = join(folder, "file");
  writeFileSync(notFolder, "");
  await expect(openOwnListeners(notFolder).has(1)).rejects.toMatchObject({ code: "ENOTDIR" });
});
