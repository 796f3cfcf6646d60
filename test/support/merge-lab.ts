import { join } from "node:path";
import { expect } from "vitest";
import { LayerFolders } from "../../src/runtime/namespace/states/layer-folders.ts";
import { type MergedStack, readStack } from "../../src/runtime/namespace/states/stack-file.ts";
import type { FrozenState } from "../../src/runtime/contract/state-store.ts";
import { type ContractSandbox, run } from "../contract/contract-sandbox.ts";
import type { RaiseLab } from "./raise-lab.ts";

/** So many raised layers become one. */
export const WIDTH = 8;

export function foldersOf({ home }: RaiseLab): LayerFolders {
  return new LayerFolders(home.path, join(home.path, "pool"));
}

/** Checkpoints, each after one of the scripts, which the sandbox's root runs. */
export async function freezeEach(lab: RaiseLab, sandbox: ContractSandbox, scripts: readonly string[]): Promise<readonly FrozenState[]> {
  const states: FrozenState[] = [];
  for (const script of scripts) {
    const { exitCode, stderr } = await run(sandbox.guest, script, { user: "root" });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    states.push(await lab.freeze(sandbox));
  }
  return states;
}

/** As many as it takes until some become one: `number` names a file of each. */
export function fillers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, number) => `touch /home/user/filler-${number}`);
}

/** Waits for the layer that the next raise takes. */
export async function waitForMerged(lab: RaiseLab, { spec }: ContractSandbox): Promise<MergedStack> {
  const folders = foldersOf(lab);
  const { merges } = await readStack(spec);
  if (!merges) throw new Error("no layers are merged");
  await expect.poll(() => folders.find(merges.layer), { timeout: 30_000 }).toBeDefined();
  return merges;
}
