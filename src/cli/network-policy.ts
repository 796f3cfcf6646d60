import { checkNetworkPolicy, parseNetworkPolicy } from "../network/check-policy.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import { usage } from "./usage.ts";

export interface PolicyEdit {
  /** Instead of the policy that is there. */
  readonly set?: string;
  /** Rules with commas between. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** The policy after the edit; undefined when nothing is to be changed. Throws `ARGUMENTS_INVALID` or `USAGE`. */
export function editPolicy(current: NetworkPolicy, { set, allow, deny }: PolicyEdit): NetworkPolicy | undefined {
  if (set === undefined && allow.length === 0 && deny.length === 0) return undefined;
  const base = set === undefined ? current : parseNetworkPolicy(set);
  if (allow.length === 0 && deny.length === 0) return base;
  if (base === "all") throw usage("The policy is all: name the rules that are to stay instead", "belljar sandbox network --help");
  const rules = [...rulesOf(base), ...allow.flatMap((text) => rulesOf(parseNetworkPolicy(text)))];
  return withoutRules(
    rules,
    deny.flatMap((text) => rulesOf(parseNetworkPolicy(text))),
  );
}

function withoutRules(rules: readonly string[], denied: readonly string[]): NetworkPolicy {
  const unknown = denied.find((rule) => !rules.includes(rule));
  if (unknown !== undefined)
    throw usage(`"${unknown}" is no rule of the policy, which has ${rules.join(", ") || "none"}`, "belljar sandbox network ID");
  const left = rules.filter((rule) => !denied.includes(rule));
  return left.length === 0 ? "none" : checkNetworkPolicy({ allow: left });
}

function rulesOf(policy: NetworkPolicy): readonly string[] {
  if (policy === "none") return [];
  if (policy === "all") throw usage("all is no rule: write it as the policy itself", "belljar sandbox network --help");
  return policy.allow;
}
