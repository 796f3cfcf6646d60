import { BelljarError } from "../errors.ts";
import type { NetworkPolicy } from "../network/policy.ts";

/** As a person writes it: `none`, `all`, or the rules with commas. */
export function formatPolicy(policy: NetworkPolicy): string {
  return typeof policy === "string" ? policy : policy.allow.join(", ");
}

/** Rejects with `FORBIDDEN` when `policy` allows anything that `ceiling` does not. */
export async function assertWithin(policy: NetworkPolicy, ceiling: NetworkPolicy): Promise<void> {
  const { narrows } = await import("../network/check-policy.ts");
  if (!narrows(policy, ceiling)) throw beyond(policy, ceiling);
}

function beyond(policy: NetworkPolicy, ceiling: NetworkPolicy): BelljarError {
  const most = `at most it may have ${formatPolicy(ceiling)}`;
  return new BelljarError(
    "FORBIDDEN",
    `The network policy ${formatPolicy(policy)} goes beyond what this sandbox was given (${most}); a person can widen it with \`belljar sandbox network\``,
  );
}
