import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { CREATOR, isThisProcess, mayBeInTheMaking } from "./creator.ts";

const createdAt = new Date(1_000_000);
const at = (ms: number) => createdAt.getTime() + ms;

it("takes a sandbox for one in the making for half a minute", () => {
  expect(mayBeInTheMaking({ createdAt, creator: CREATOR }, at(30_000))).toBe(true);
  expect(mayBeInTheMaking({ createdAt, creator: CREATOR }, at(30_001))).toBe(false);
});

it("tells this process from an earlier one of the same number", () => {
  const earlier = { ...CREATOR, startedMs: CREATOR.startedMs - 1 };
  expect([isThisProcess(CREATOR), isThisProcess(earlier), isThisProcess({ ...CREATOR, pid: process.ppid })]).toEqual([true, false, false]);
  expect(mayBeInTheMaking({ createdAt, creator: earlier }, at(0))).toBe(false);
});

it("spares what another process makes while that lives", () => {
  const madeBy = (pid: number) => mayBeInTheMaking({ createdAt, creator: { pid, startedMs: 1 } }, at(0));
  expect([madeBy(process.ppid), madeBy(spawnSync("true").pid)]).toEqual([true, false]);
});
