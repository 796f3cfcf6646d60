import { BelljarError } from "../errors.ts";
import { kindOfAddress } from "./egress/addresses.ts";
import { isAddress, toAuthority } from "./host-name.ts";
import type { NetworkPolicy } from "./policy.ts";
import { isBelow } from "./request-path.ts";
import { type Allowance, parseRule } from "./rules.ts";

const RULES_MAX = 256;

/** A policy as the CLI, the environment and the configuration write it: `none`, `all`, or rules with commas between. Throws `ARGUMENTS_INVALID`. */
export function parseNetworkPolicy(text: string): NetworkPolicy {
  const written = text.trim();
  if (written === "none" || written === "all") return written;
  const rules = written
    .split(",")
    .map((rule) => rule.trim())
    .filter((rule) => rule !== "");
  return checkNetworkPolicy({ allow: rules });
}

/** A policy from outside, its rules in canonical form and each once. Throws `ARGUMENTS_INVALID`. */
export function checkNetworkPolicy(value: unknown): NetworkPolicy {
  if (value === "none" || value === "all") return value;
  const allow = readRules(value);
  if (allow.length === 0)
    throw new BelljarError("ARGUMENTS_INVALID", "A network policy names at least one rule; for no network, write none");
  if (allow.length > RULES_MAX) throw new BelljarError("ARGUMENTS_INVALID", `A network policy has at most ${RULES_MAX} rules`);
  return { allow: [...new Set(allow.map((rule) => parseRule(rule).text))] };
}

/** What a policy allows by rules; nothing for `none` and `all`. */
export function allowancesOf(policy: NetworkPolicy): readonly Allowance[] {
  return typeof policy === "string" ? [] : policy.allow.flatMap((rule) => parseRule(rule).allowances);
}

/** Whether `policy` allows nothing that `ceiling` does not. `all` reaches public addresses alone, so a rule that names a port reaches beyond it. */
export function narrows(policy: NetworkPolicy, ceiling: NetworkPolicy): boolean {
  if (policy === "none" || policy === ceiling) return true;
  if (policy === "all" || ceiling === "none") return false;
  const wide = allowancesOf(ceiling);
  return allowancesOf(policy).every((allowance) =>
    ceiling === "all" ? !allowance.isExact : wide.some((other) => covers(other, allowance)),
  );
}

/**
 * The places, as `host:port`, that the policy's exact rules name and that are surely not of the public Internet, but for those that
 * `within` names exactly too. What a name leads to is known only when it is connected to.
 */
export function namesInside(policy: NetworkPolicy, within: NetworkPolicy): readonly string[] {
  return exactPlaces(policy)
    .filter((place) => isInside(place) && !isNamed(within, place))
    .map(write);
}

/**
 * The places that the policy's exact rules may lead to though they are not of the public Internet, but for those that `within` names
 * exactly too. `inside`: only what that names may lead there at all.
 */
export function reachesInside(
  policy: NetworkPolicy,
  { inside, within }: { readonly inside: NetworkPolicy | undefined; readonly within: NetworkPolicy },
): readonly string[] {
  const places = exactPlaces(policy).filter((place) => inside === undefined || isNamed(inside, place));
  return places.filter((place) => !isPublicAddress(place) && !isNamed(within, place)).map(write);
}

type ExactPlace = Pick<Allowance, "host" | "port">;

function exactPlaces(policy: NetworkPolicy): readonly ExactPlace[] {
  return allowancesOf(policy).filter((allowance) => allowance.isExact);
}

function isNamed(policy: NetworkPolicy, { host, port }: ExactPlace): boolean {
  return exactPlaces(policy).some((place) => place.host === host && place.port === port);
}

function isPublicAddress({ host }: ExactPlace): boolean {
  return isAddress(host) && kindOfAddress(host) === "public";
}

/** A name without a dot is of this machine's own network, as is what ends in `localhost`. */
function isInside({ host }: ExactPlace): boolean {
  return isAddress(host) ? kindOfAddress(host) !== "public" : !host.includes(".") || host.endsWith(".localhost");
}

function write({ host, port }: ExactPlace): string {
  return toAuthority(host, port);
}

function covers(wide: Allowance, narrow: Allowance): boolean {
  if (wide.port !== narrow.port || (wide.scheme !== "any" && wide.scheme !== narrow.scheme)) return false;
  if (!coversHost(wide, narrow) || (narrow.isExact && !wide.isExact)) return false;
  if (wide.methods && !narrow.methods?.every((method) => wide.methods?.includes(method))) return false;
  return wide.path === undefined || (narrow.path !== undefined && isBelow(narrow.path, wide.path));
}

function coversHost(wide: Allowance, narrow: Allowance): boolean {
  if (!wide.isWildcard) return !narrow.isWildcard && wide.host === narrow.host;
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.isWildcard && narrow.host === wide.host);
}

function readRules(value: unknown): readonly string[] {
  const isPlain = typeof value === "object" && value !== null && Object.keys(value).every((key) => key === "allow");
  const allow: unknown = isPlain && "allow" in value ? value.allow : undefined;
  if (Array.isArray(allow) && allow.every((rule): rule is string => typeof rule === "string")) return allow;
  throw new BelljarError("ARGUMENTS_INVALID", 'A network policy is "none", "all" or { "allow": [RULE, ...] }');
}
