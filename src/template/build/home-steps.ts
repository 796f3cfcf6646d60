import type { Runtime } from "../../runtime/contract/runtime.ts";
import { quotasOf } from "../../sandbox/grants.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { needStates } from "../../sandbox/state/state-errors.ts";
import type { MakingParts } from "../making/making.ts";
import { StepCache } from "./step-cache.ts";

type CacheParts = Pick<MakingParts, "stored" | "maxBytes" | "quotas">;

/** An owner's kept steps may have as much as one of its templates, and no more than all of them. */
export function openStepCache({ stored, maxBytes, quotas }: CacheParts, principal: Principal, runtime: Runtime): StepCache {
  const { templateBytes = maxBytes } = quotasOf(principal, quotas);
  const most = Math.min(maxBytes, templateBytes);
  return new StepCache({ files: stored.steps, states: needStates(runtime), runtime: runtime.name, owner: principal.id, maxBytes: most });
}
