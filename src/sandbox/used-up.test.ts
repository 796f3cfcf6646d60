import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { GuestUsage } from "../runtime/guest/guest.ts";
import type { Guest } from "./sandbox.ts";
import type { Usage } from "../runtime/runtime.ts";
import { findUsedUp, tellUsedUp } from "./used-up.ts";

const FAILED = { exitCode: 1, signal: undefined, timedOut: false };

interface Told {
  readonly oomKills?: number;
  readonly disk?: boolean | Error;
}

/** What is found of a command that ended so, and what was asked. */
async function find(end: Partial<typeof FAILED>, { oomKills = 0, disk = false }: Told) {
  const asked: string[] = [];
  const guest = {
    usage: async () => {
      asked.push("disk");
      if (disk instanceof Error) throw disk;
      return { isDiskFull: disk } as GuestUsage;
    },
  } as Partial<Guest> as Guest;
  const usage = async () => {
    asked.push("memory");
    return { oomKills } as Usage;
  };
  return [await findUsedUp({ usage, guest }, { ...FAILED, ...end }, 0), ...asked];
}

it("asks for the disk once, of a failed command alone", async () => {
  expect(await find({ exitCode: 0 }, { disk: true })).toEqual([undefined]);
  expect(await find({ timedOut: true }, { disk: true })).toEqual([undefined]);
  expect(await find({}, { disk: true })).toEqual(["disk", "disk"]);
  expect(await find({}, {})).toEqual([undefined, "disk"]);
});

it("tells the memory before the disk", async () => {
  expect(await find({ exitCode: 137 }, { oomKills: 1, disk: true })).toEqual(["memory", "memory"]);
  expect(await find({ exitCode: 137 }, { disk: true })).toEqual(["disk", "memory", "disk"]);
});

it("tells the command's result though its sandbox does not answer", async () => {
  const gone = new BelljarError("SANDBOX_ENDED", "The sandbox has ended");
  expect(await find({}, { disk: gone })).toEqual([undefined, "disk"]);
  await expect(find({}, { disk: new TypeError("a fault of our own") })).rejects.toThrow("of our own");
});

it("tells what was used up in a line, and nothing in none", () => {
  expect(tellUsedUp(undefined)).toEqual([]);
  expect(tellUsedUp("disk")).toEqual(["the sandbox's disk is full (its files and /tmp count)"]);
  expect(tellUsedUp("memory")[0]).toContain("memory was used up");
});
