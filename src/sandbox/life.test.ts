import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { Usage } from "../runtime/contract/run.ts";
import { type LiveHandle, lifeOf, usageOf } from "./life.ts";

const USAGE: Usage = {
  memoryBytes: 1,
  memoryPeakBytes: 2,
  cpuUs: 3,
  processes: 4,
  oomKills: 0,
  phase: "running",
  deadline: new Date(5),
  deadlineAction: "kill",
};
const END = { reason: "killed", at: new Date(6) } as const;
const UNRESPONSIVE = new BelljarError("SANDBOX_UNRESPONSIVE", "It says nothing");
const OTHER = new BelljarError("SANDBOX_ENDED", "It has ended");

function handleOf(more: Partial<LiveHandle>): LiveHandle {
  return { usage: async () => USAGE, connect: () => Promise.reject(OTHER), ended: Promise.resolve(END), ...more };
}

it("takes a sandbox for what its keeper says, and one that is taken down for its end", async () => {
  expect(await usageOf(handleOf({}))).toBe(USAGE);
  expect(await usageOf(handleOf({ usage: async () => ({ ...USAGE, phase: "ending" }) }))).toBe(END);
});

it("takes a keeper that does not answer for silent, and no other failure", async () => {
  expect(await usageOf(handleOf({ usage: () => Promise.reject(UNRESPONSIVE) }))).toEqual({ silent: "its keeper does not answer" });
  await expect(usageOf(handleOf({ usage: () => Promise.reject(OTHER) }))).rejects.toBe(OTHER);
});

it("takes a guest that does not answer for silent, with its deadline, and any answer for one", async () => {
  const connect = () => Promise.reject(UNRESPONSIVE);
  expect(await lifeOf(handleOf({ connect }))).toEqual({ silent: "its guest does not answer", deadline: USAGE.deadline });
  const { deadline: _, ...endless } = USAGE;
  expect(await lifeOf(handleOf({ connect, usage: async () => endless }))).toEqual({ silent: "its guest does not answer" });
  expect(await lifeOf(handleOf({}))).toBe(USAGE);
});

it("asks the guest of a running sandbox alone", async () => {
  const connect = () => Promise.reject(UNRESPONSIVE);
  const paused = { ...USAGE, phase: "paused" } as const;
  expect(await lifeOf(handleOf({ connect, usage: async () => paused }))).toBe(paused);
  expect(await lifeOf(handleOf({ connect, usage: async () => ({ ...USAGE, phase: "ending" }) }))).toBe(END);
  expect(await lifeOf(handleOf({ connect, usage: connect }))).toEqual({ silent: "its keeper does not answer" });
});
