import { watch } from "node:fs";
import { expect } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import { findSpeakers, freeze } from "../support/freeze.ts";
import { type Box, useLab } from "./support/lab.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const MIB = 2 ** 20;
const ROUNDS = 30;
/** Shorter than the time between two looks of a keeper: the first look that finds it idle puts it to sleep. */
const IDLE_MS = 1;
const LOOK_MS = 10;

verifies("sleep-loses-no-call", async ({ skip }) => {
  skip(!lab.isolation.sleep, "this host pauses no idle sandbox");
  await using box = await lab.box();
  const guest = wakingGuest(box);
  const run = async (script: string) => (await guest.run({ argv: ["sh", "-c", script], signal: AbortSignal.timeout(50_000) })).exitCode;
  await box.running.sleepAfter(IDLE_MS);
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilPaused(box);
    expect(await Promise.all([1, 2, 3, 4].map((caller) => run(`exit ${caller}`)))).toEqual([1, 2, 3, 4]);
  }

  // A stream that the guest had no time to see: it stands still itself, and looks idle.
  await using later = await lab.box();
  await using stopped = await lab.box();
  await later.running.sleepAfter(8 * LOOK_MS);
  await using frozen = await freeze(findSpeakers(stopped.folder).guest);
  const stream = await stopped.running.connect(AbortSignal.timeout(50_000));
  await stopped.running.sleepAfter(IDLE_MS);
  await untilPaused(later);
  await frozen[Symbol.asyncDispose]();
  await createGuest(async () => stream).ping(AbortSignal.timeout(50_000));

  // While its memory is given back, its keeper answers, and ends it.
  for (const end of ["kill", "deadline"] as const) {
    await using full = await lab.box({ limits: { memoryBytes: 512 * MIB } });
    await full.run(["sh", "-c", `head -c ${128 * MIB} /dev/zero > file; cat file >/dev/null`]);
    await full.running.pause();
    expect(await full.running.usage()).toMatchObject({ phase: "paused" });
    if (end === "kill") await full.running.kill("killed");
    else await full.running.extend(new Date(Date.now() + 1));
    expect((await full.running.ended).reason).toBe({ kill: "killed", deadline: "deadline" }[end]);
  }
});

function wakingGuest({ running }: Box): Guest {
  return createGuest((signal) => running.connect(signal), { ended: running.ended, wake: () => running.resume() });
}

/** Each pause sets a new time on the sandbox's folder. */
async function untilPaused({ running, folder }: Box): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const look = (): void => void (running.isPaused() && (watcher.close(), resolve()));
    const watcher = watch(folder, { signal: AbortSignal.timeout(50_000) }, look).once("error", reject);
    look();
  });
}
