import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { GuestUsage } from "../runtime/guest/guest.ts";
import type { Guest } from "./sandbox.ts";
import type { Usage } from "../runtime/contract/run.ts";
import { findUsedUp, tellUsedUp, watchUsedUp } from "./used-up.ts";

const FAILED = { exitCode: 1, timedOut: false };
const KNOWN = 3;

interface Told {
  readonly oomKills?: number | Error;
  readonly disk?: boolean | Error;
}

function openSandbox({ oomKills = KNOWN, disk = false }: Told) {
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
    if (oomKills instanceof Error) throw oomKills;
    return { oomKills } as Usage;
  };
  return { asked, guest, usage, knownOomKills: async () => KNOWN };
}

/** What is found of a command that ended so, and what was asked. */
async function find(end: Partial<typeof FAILED>, told: Told, before: number | undefined = KNOWN) {
  const sandbox = openSandbox(told);
  return [await findUsedUp(sandbox, { ...FAILED, ...end }, before), ...sandbox.asked];
}

it("asks for the memory after every command, and for the disk after a failed one alone", async () => {
  expect(await find({ exitCode: 0 }, { disk: true })).toEqual([undefined, "memory"]);
  expect(await find({}, { disk: true })).toEqual(["disk", "memory", "disk"]);
  expect(await find({}, {})).toEqual([undefined, "memory", "disk"]);
  expect(await find({ timedOut: true }, { oomKills: 4, disk: true })).toEqual([undefined]);
});

it("tells of a kill by the count, however the command ended, and before the disk", async () => {
  for (const exitCode of [0, 1, 137]) expect(await find({ exitCode }, { oomKills: 4, disk: true })).toEqual(["memory", "memory"]);
});

it("asks nobody for the memory where nobody counts", async () => {
  const sandbox = openSandbox({ oomKills: 4 });
  expect(await findUsedUp(sandbox, FAILED, undefined)).toBeUndefined();
  expect(sandbox.asked).toEqual(["disk"]);
});

it("compares with what was known when the command began", async () => {
  let [known, now] = [1, 1];
  const sandbox = { ...openSandbox({}), usage: async () => ({ oomKills: now }) as Usage, knownOomKills: async () => known };
  const found = await watchUsedUp(sandbox);
  expect(await found(FAILED)).toBeUndefined();
  [known, now] = [2, 2];
  expect(await found(FAILED)).toBe("memory");
  expect(await (await watchUsedUp(sandbox))(FAILED)).toBeUndefined();
});

it("tells the command's result though its sandbox does not answer", async () => {
  const gone = new BelljarError("SANDBOX_ENDED", "The sandbox has ended");
  expect(await find({}, { oomKills: gone, disk: gone })).toEqual([undefined, "memory", "disk"]);
  await expect(find({}, { disk: new TypeError("a fault of our own") })).rejects.toThrow("of our own");
});

it("tells what was used up in a line, and nothing in none", () => {
  expect(tellUsedUp(undefined)).toEqual([]);
  expect(tellUsedUp("disk")).toEqual(["the sandbox's disk is full (its files and /tmp count)"]);
  expect(tellUsedUp("memory")[0]).toContain("memory was used up");
});
