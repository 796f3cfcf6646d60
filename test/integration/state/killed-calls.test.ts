import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { checkpointBeforeCalls } from "../../../src/sandbox/state/last-call.ts";
import { randomNumbers, readSeed } from "../../support/crash-home.ts";
import { openStateHome, shell, STATE_STORAGES, type StateHome } from "../../support/state-home.ts";

const WORKER = join(import.meta.dirname, "../../fixtures/call-worker.mjs");
const ROUNDS = 4;
const TIMEOUT_MS = 240_000;
const LATEST_MS = 40;
const signal = new AbortController().signal;

interface Fact {
  readonly begins?: number;
  readonly wrote?: number;
  readonly problem?: string;
}

/** Kills a worker with -9 some moments after it began its fourth call or a later one. Gives the last number that it has written. */
async function killWhileCalling(home: StateHome, call: { readonly id: string; readonly first: number }, random: () => number) {
  const child = spawn(process.execPath, [WORKER, JSON.stringify({ ...home.crash, ...call })], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let wrote = call.first - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    const fact = JSON.parse(line.endsWith("}") ? line : "{}") as Fact;
    expect(fact.problem).toBeUndefined();
    wrote = fact.wrote ?? wrote;
    if (fact.begins !== call.first + 4) continue;
    await wait(random() * LATEST_MS);
    child.kill("SIGKILL");
  }
  await closed;
  return wrote;
}

describe("a process that is killed with -9 between a checkpoint and its call, or in either", () => {
  for (const storage of STATE_STORAGES) {
    it(
      `leaves checkpoints to which the sandbox goes back call by call, and nothing else, with storage in ${storage}`,
      { timeout: TIMEOUT_MS },
      async () => {
        const random = randomNumbers(readSeed());
        await using home = await openStateHome(storage);
        const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
        let now = sandbox;
        let first = 1;
        for (let round = 0; round < ROUNDS; round += 1) {
          const wrote = await killWhileCalling(home, { id: sandbox.id, first }, random);
          const written = Number(await shell(now, "cat notes"));
          expect([wrote, wrote + 1]).toContain(written);
          const { id } = await checkpointBeforeCalls(now, 1);
          ({ sandbox: now } = await now.timeLine.rollback(id, signal));
          const back = Number(await shell(now, "cat notes"));
          // What was written has its checkpoint. There may be one more, of a call that has written nothing.
          expect([written - 1, ...(written === wrote ? [wrote] : [])]).toContain(back);
          expect((await now.timeLine.list()).checkpoints.length).toBeLessThanOrEqual(6);
          first = back + 1;
        }
        await now.kill();
        for (let sweep = 0; sweep < 3; sweep += 1) await home.sweepOld();
        expect([await home.layers(), home.problems]).toEqual([[], []]);
      },
    );
  }
});
