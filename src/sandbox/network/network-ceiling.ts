import { BelljarError } from "../../errors.ts";
import { narrows } from "../../network/check-policy.ts";
import type { NetworkPolicy } from "../../network/policy.ts";

/** As a person writes it: `none`, `all`, or the rules with commas. */
export function formatPolicy(policy: NetworkPolicy): string {
  return typeof policy === "string" ? policy : policy.allow.join(", ");
}

export function isSamePolicy(one: NetworkPolicy, other: NetworkPolicy): boolean {
  return narrows(one, other) && narrows(other, one);
}

/** Throws `FORBIDDEN` when `policy` allows anything that `ceiling` does not. */
export function assertWithin(policy: NetworkPolicy, ceiling: NetworkPolicy): void {
  if (narrows(policy, ceiling)) return;
  const most = `at most it may have ${formatPolicy(ceiling)}`;
  throw new BelljarError(
    "FORBIDDEN",
    `The network policy ${formatPolicy(policy)} goes beyond what this sandbox was given (${most}); a person can widen it with \`belljar sandbox network\``,
  );
}
