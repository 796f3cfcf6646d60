import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStepFiles, StepCache } from "./step-cache.ts";

/** Layers that are always there. */
const states = { has: async () => true, hold: async () => undefined, letGo: async () => undefined };
const hold = async (): Promise<void> => undefined;

/** As each process has it. */
function openCache(home: string): StepCache {
  const files = openStepFiles(home, () => undefined);
  return new StepCache({ files, states, runtime: "namespace", owner: "local", maxBytes: 20 });
}

/** All steps that are there were used an hour earlier than they were. */
function age(home: string): void {
  const files = openStepFiles(home, () => undefined);
  const steps = join(home, "templates", "steps");
  for (const id of readdirSync(steps)) {
    const at = files.touchedAt(id) / 1_000 - 3_600;
    utimesSync(join(steps, id, "step.json"), at, at);
  }
}

it("beyond the bound the step goes that was used the longest time ago, by whichever process", async () => {
  const home = mkdtempSync(join(tmpdir(), "belljar-steps-"));
  try {
    const cache = openCache(home);
    for (const name of ["first", "second"]) {
      await cache.keep(name, { layers: [name], bytes: 10 });
      age(home);
    }
    expect(await openCache(home).find("first", hold)).toMatchObject({ layers: ["first"] });
    await cache.keep("third", { layers: ["third"], bytes: 10 });
    const found = await Promise.all(["first", "second", "third"].map((name) => cache.find(name, hold)));
    expect(found.map((one) => one?.layers[0])).toEqual(["first", undefined, "third"]);
  } finally {
    rmSync(home, { recursive: true });
  }
});
