import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { AuditReserve, isDiskFull } from "./audit-reserve.ts";

const [BYTES, STEP] = [1_048_576, 65_536];

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belljar-reserve-"));
  path = join(folder, "reserve");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("a reserve is filled where less than all is left, and left alone otherwise", () => {
  const reserve = new AuditReserve(path);
  reserve.fill();
  const { size, ino } = statSync(path);
  expect(size).toBe(BYTES);
  reserve.fill();
  expect(statSync(path).ino).toBe(ino);
  truncateSync(path, BYTES - 1);
  reserve.fill();
  expect(statSync(path)).toMatchObject({ size: BYTES });
});

it("a reserve gives back a step of its space at a time, until nothing is left", () => {
  const reserve = new AuditReserve(path);
  expect([reserve.take(), existsSync(path)]).toEqual([false, false]);
  reserve.fill();
  expect([reserve.take(), statSync(path).size]).toEqual([true, BYTES - STEP]);
  writeFileSync(path, "a");
  expect([reserve.take(), statSync(path).size, reserve.take()]).toEqual([true, 0, false]);
});

it("a full disk is told from other failures", () => {
  const failure = (code: string) => Object.assign(new Error(code), { code });
  expect(["ENOSPC", "EDQUOT", "EIO"].map((code) => isDiskFull(failure(code)))).toEqual([true, true, false]);
  expect([isDiskFull(new BelljarError("DISK_FULL", "No space")), isDiskFull(undefined), isDiskFull("ENOSPC")]).toEqual([
    true,
    false,
    false,
  ]);
});
