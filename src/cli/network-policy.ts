import { checkNetworkPolicy, parseNetworkPolicy } from "../network/check-policy.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import { usage } from "./usage.ts";

export interface PolicyEdit {
  /** Replaces the current policy. */
  readonly set?: string;
  /** Comma-separated rules. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** Returns the policy after the edit, or undefined if nothing changes. Throws `ARGUMENTS_INVALID` or `USAGE`. */
export function editPolicy(current: NetworkPolicy, { set, allow, deny }: PolicyEdit): NetworkPolicy | undefined {
  if (set === undefined && allow.length === 0 && deny.length === 0) return undefined;
  const base = set === undefined ? current : parseNetworkPolicy(set);
  if (allow.length === 0 && deny.length === 0) return base;
  if (base === "all")
    throw usage("The policy is all, so it has no rules to change: give a policy with rules instead", "belljar sandbox network --help");
  const rules = [...rulesOf(base), ...allow.flatMap((text) => rulesOf(parseNetworkPolicy(text)))];
  return withoutRules(
    rules,
    deny.flatMap((text) => rulesOf(parseNetworkPolicy(text))),
  );
}

function withoutRules(rules: readonly string[], denied: readonly string[]): NetworkPolicy {
  const unknown = denied.find((rule) => !rules.includes(rule));
  if (unknown !== undefined)
    throw usage(`"${unknown}" is not a rule of the policy; its rules are ${rules.join(", ") || "none"}`, "belljar sandbox network ID");
  const left = rules.filter((rule) => !denied.includes(rule));
  return left.length === 0 ? "none" : checkNetworkPolicy({ allow: left });
}

function rulesOf(policy: NetworkPolicy): readonly string[] {
  if (policy === "none") return [];
  if (policy === "all") throw usage("all is not a rule: give it as the whole policy", "belljar sandbox network --help");
  return policy.allow;
}
