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

/** Midday, so that no time zone makes it another day. */
const onDay = (day: number): Date => new Date(2026, 2, day, 12);

/** One line on each of these days, as the clock of the file system would date it. */
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

it("begins anew each day, and is for its owner alone", () => {
  writeOnDays([1, 1, 2]);
  expect(names()).toEqual(["belljar.log", "belljar.log.2026-03-01"]);
  expect([read("belljar.log.2026-03-01"), read("belljar.log")]).toEqual(["day 1\nday 1\n", "day 2\n"]);
  expect(statSync(path).mode & 0o077).toBe(0);
});

it("keeps five days beside the present one", () => {
  writeOnDays([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(names()).toEqual(["belljar.log", ...[3, 4, 5, 6, 7].map((day) => `belljar.log.2026-03-0${day}`)]);
});

it("goes on with what a process of the same day began, and rolls what one of another day left", () => {
  writeOnDays([1]);
  writeOnDays([1]);
  writeOnDays([4]);
  expect([read("belljar.log.2026-03-01"), read("belljar.log")]).toEqual(["day 1\nday 1\n", "day 4\n"]);
});

it("is written by several processes at once, and loses no line", () => {
  writeOnDays([1, 2, 3], 2);
  expect(names().map(read)).toEqual(["day 3\nday 3\n", "day 1\nday 1\n", "day 2\nday 2\n"]);
});
