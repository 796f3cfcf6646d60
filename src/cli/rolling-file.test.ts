import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openRollingFile } from "./rolling-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bj-log-"));
  path = join(folder, "logs/belljar.log");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Midday, so that it is the same day in every time zone. */
const onDay = (day: number): Date => new Date(2026, 2, day, 12);

/** Writes one line on each of these days, and dates the file as the file system would. */
function writeOnDays(days: readonly number[], openers = 1): void {
  let today = onDay(1);
  const files = Array.from({ length: openers }, () => openRollingFile(path, { now: () => today }));
  for (const day of days) {
    today = onDay(day);
    for (const file of files) {
      file.append(`day ${day}\n`);
      utimesSync(path, today, today);
    }
  }
}

const names = (): readonly string[] => readdirSync(join(folder, "logs")).toSorted();
const read = (name: string): string => readFileSync(join(folder, "logs", name), "utf8");

it("starts empty each day, and only this user can read it", () => {
  writeOnDays([1, 1, 2]);
  expect(names()).toEqual(["belljar.log", "belljar.log.2026-03-01"]);
  expect([read("belljar.log.2026-03-01"), read("belljar.log")]).toEqual(["day 1\nday 1\n", "day 2\n"]);
  expect(statSync(path).mode & 0o077).toBe(0);
});

it("keeps five earlier days", () => {
  writeOnDays([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(names()).toEqual(["belljar.log", ...[3, 4, 5, 6, 7].map((day) => `belljar.log.2026-03-0${day}`)]);
});

it("appends to a file of the same day, and rolls a file of an earlier day", () => {
  writeOnDays([1]);
  writeOnDays([1]);
  writeOnDays([4]);
  expect([read("belljar.log.2026-03-01"), read("belljar.log")]).toEqual(["day 1\nday 1\n", "day 4\n"]);
});

it("loses no line when several processes write at once", () => {
  writeOnDays([1, 2, 3], 2);
  expect(names().map(read)).toEqual(["day 3\nday 3\n", "day 1\nday 1\n", "day 2\nday 2\n"]);
});
