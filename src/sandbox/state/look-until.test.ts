import { afterEach, beforeEach, expect, it } from "vitest";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lookUntil } from "./look-until.ts";

const LONG = { ms: 60_000, signal: new AbortController().signal };
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "bj-look-"))));
afterEach(() => rmSync(folder, { recursive: true }));

it("gives what is there already, without a folder too", async () => {
  expect(await lookUntil(join(folder, "none"), async () => "there", LONG)).toBe("there");
  expect(await lookUntil(join(folder, "none"), async () => undefined, LONG)).toBeUndefined();
});

it("looks again after each change in the folder", async () => {
  let looks = 0;
  const look = async (): Promise<number | undefined> => {
    looks += 1;
    if (looks === 2) queueMicrotask(() => writeFileSync(join(folder, "one"), ""));
    if (looks === 3) queueMicrotask(() => writeFileSync(join(folder, "two"), ""));
    return looks > 3 ? looks : undefined;
  };
  expect(await lookUntil(folder, look, LONG)).toBeGreaterThan(3);
});

it("sees a change that comes while it looks", async () => {
  let looks = 0;
  const look = async (): Promise<number | undefined> => {
    looks += 1;
    if (looks === 2) writeFileSync(join(folder, "one"), "");
    return looks > 2 ? looks : undefined;
  };
  expect(await lookUntil(folder, look, LONG)).toBe(3);
});

it("looks once more when the time is up, or the caller cancels", async () => {
  let isOver = false;
  const { signal } = LONG;
  setTimeout(() => (isOver = true), 5);
  expect(await lookUntil(folder, async () => isOver || undefined, { ms: 50, signal })).toBe(true);
  const caller = new AbortController();
  setTimeout(() => caller.abort(), 5);
  expect(await lookUntil(folder, async () => undefined, { ms: 60_000, signal: caller.signal })).toBeUndefined();
});
