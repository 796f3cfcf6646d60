import type { Runtime } from "../runtime/contract/runtime.ts";
import type { StateStore } from "../runtime/contract/state-store.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import { openStepCache } from "./build/home-steps.ts";
import { KnownLayers } from "./known-layers.ts";
import type { MakingParts } from "./making/making.ts";
import type { PrunedSteps } from "./wire/template-schema.ts";

type PruneParts = Pick<MakingParts, "home" | "stored" | "runtimes" | "maxBytes" | "quotas">;

/** Removes what an owner's builds and imports have kept for later ones, and none of its templates has. */
export async function pruneOwner(parts: PruneParts, principal: Principal): Promise<PrunedSteps> {
  const pruned = { steps: 0, bytes: 0 };
  for (const runtime of withStates(parts)) {
    const { steps, bytes } = await pruneSteps(parts, principal, runtime);
    pruned.steps += steps;
    pruned.bytes += bytes;
  }
  const stores = withStates(parts).map(({ layers }) => layers.states);
  await new KnownLayers(parts.home, principal.id).prune((layer) => isInOne(stores, layer));
  return pruned;
}

/** Steps whose layers all lie in templates of the owner take no room: a later build finds them. */
async function pruneSteps(parts: PruneParts, principal: Principal, runtime: Runtime): Promise<PrunedSteps> {
  const own = (await parts.stored.files.list()).filter(({ owner }) => owner === principal.id);
  const used = new Set(own.flatMap(({ layers }) => layers));
  const cache = openStepCache(parts, principal, runtime);
  const unused = (await cache.own()).filter(({ layers }) => layers.some((layer) => !used.has(layer)));
  for (const step of unused) await cache.drop(step);
  return { steps: unused.length, bytes: unused.reduce((sum, { bytes }) => sum + bytes, 0) };
}

async function isInOne(stores: readonly (StateStore | undefined)[], layer: string): Promise<boolean> {
  for (const states of stores) if (await states?.has([layer])) return true;
  return false;
}

function withStates({ runtimes }: PruneParts): readonly Runtime[] {
  return runtimes.all().filter(({ layers }) => layers.states !== undefined);
}
