import type { Isolation } from "../../runtime/runtime.ts";

/** Adds how network policies hold here: by what was tried of the sandbox's own network, since the rest is Belljar's own code. */
export function withNetworkCheck(isolation: Isolation): Isolation {
  if (!isolation.available) return isolation;
  const isApart = isolation.checks.some(({ id, state }) => id === "network" && state === "enforced");
  const detail = isApart
    ? "Policies decide by name, in Belljar's own proxy outside the sandbox; its network has no other way out"
    : "Sandboxes of this runtime have a network of their own, which no policy of Belljar's governs";
  return { ...isolation, checks: [...isolation.checks, { id: "network-policy", state: isApart ? "enforced" : "absent", detail }] };
}
