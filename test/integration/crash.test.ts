import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as moment } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { findIdMap, ID_MAP_KIND } from "../../src/runtime/namespace/id-map.ts";
import { type CrashHome, openCrashHome, randomNumbers, readSeed } from "../support/crash-home.ts";
import { findRemains, findTraces, NO_TRACES, untilGone, untilUnlocked } from "../support/home-traces.ts";
import type { HomeWorker } from "../support/home-worker.ts";
import { startWorker } from "../support/home-worker.ts";
import { runFolder, runName } from "../support/run-of.ts";

const STORAGES = process.getuid?.() === 0 ? (["tmpfs", "home", "btrfs"] as const) : (["tmpfs", "home"] as const);
/** For each storage. */
const KILLS = 20;
/** A create and an exec take less than this: kills fall in, between and after them. */
const SPREAD_MS = 40;
const START_MS = 250;
const HOLDER = `holder-${ID_MAP_KIND[findIdMap().kind]}`;
const TIMEOUT_MS = 240_000;

function sandboxesOf({ home }: CrashHome): readonly string[] {
  return existsSync(join(home, "sandboxes")) ? readdirSync(join(home, "sandboxes")).filter((name) => !name.startsWith(".")) : [];
}

/** What must be there after a worker was killed, what must not, and what it was about to end: either. */
interface Left {
  readonly durable: readonly string[];
  readonly gone: readonly string[];
}

function leftBy({ facts }: HomeWorker, before: Left): Left {
  if (!facts.some(({ found }) => found)) return before;
  const ended = new Set(facts.map(({ ending }) => ending));
  const made = facts.flatMap(({ found, made: id, ephemeral }) => found ?? (ephemeral === false ? [id ?? ""] : []));
  return {
    durable: made.filter((id) => !ended.has(id)),
    gone: facts.flatMap(({ made: id, ephemeral }) => (id !== undefined && ephemeral ? [id] : [])),
  };
}

function checkFound(worker: HomeWorker, before: Left): void {
  const found = worker.facts.flatMap(({ found: ids }) => ids ?? []);
  expect(found).toEqual(expect.arrayContaining([...before.durable]));
  expect(found.filter((id) => before.gone.includes(id))).toEqual([]);
  expect(worker.facts.flatMap(({ problem }) => problem ?? [])).toEqual([]);
}

/** Most while they make and use sandboxes; one of five before, while they start and clear what the one before left. */
async function crashOnce(home: CrashHome, before: Left, random: () => number): Promise<Left> {
  const isEarly = random() < 0.2;
  const worker = startWorker("churn", home);
  if (!isEarly) await worker.says(({ found }) => found !== undefined);
  await moment(random() * (isEarly ? START_MS : SPREAD_MS));
  await worker.kill();
  if (!isEarly) checkFound(worker, before);
  for (const id of sandboxesOf(home)) home.ids.add(id);
  return leftBy(worker, before);
}

describe("a process that is killed with -9 at random moments", () => {
  for (const storage of STORAGES) {
    it(`leaves nothing after the next start, and its sandboxes usable, with storage in ${storage}`, { timeout: TIMEOUT_MS }, async () => {
      const random = randomNumbers(readSeed());
      await using home = openCrashHome(storage);
      let left: Left = { durable: [], gone: [] };
      for (let kill = 0; kill < KILLS; kill += 1) left = await crashOnce(home, left, random);
      const last = startWorker("settle", home);
      expect(await last.exit).toBe(0);
      checkFound(last, left);
      await untilGone(home.runtimeDirectory, [...[...home.ids].map((id) => runName(id)), HOLDER]);
      for (const id of home.ids) await untilUnlocked(runFolder(join(home.home, "sandboxes", id)));
      expect(findTraces(home)).toEqual(NO_TRACES);
      expect(findRemains(home.home)).toEqual([]);
    });
  }
});
