import type { Isolation } from "../../runtime/contract/runtime.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";

/** Adds a check for network policies, for each runtime. It derives from the check of the sandbox's own network; the rest is Belljar's own code. */
export function withNetworkChecks({ others, ...standard }: HostIsolation): HostIsolation {
  return { ...withNetworkCheck(standard), ...(others && { others: others.map(withNetworkCheck) }) };
}

function withNetworkCheck(isolation: Isolation): Isolation {
  if (!isolation.available) return isolation;
  const isApart = isolation.checks.some(({ id, state }) => id === "network" && state === "enforced");
  const detail = isApart
    ? "Policies decide by name, in Belljar's own proxy outside the sandbox; its network has no other way out"
    : "Sandboxes of this runtime have a network of their own, which no policy of Belljar's governs";
  return { ...isolation, checks: [...isolation.checks, { id: "network-policy", state: isApart ? "enforced" : "absent", detail }] };
}
