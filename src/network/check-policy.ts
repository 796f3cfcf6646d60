import { BelljarError } from "../errors.ts";
import { kindOfAddress } from "./egress/addresses.ts";
import { isAddress, toAuthority } from "./host-name.ts";
import type { NetworkPolicy } from "./policy.ts";
import { isBelow } from "./request-path.ts";
import { type Allowance, parseRule } from "./rules.ts";

const RULES_MAX = 256;

/** Parses a policy from the CLI or the configuration: `none`, `all`, or comma-separated rules. Throws `ARGUMENTS_INVALID`. */
export function parseNetworkPolicy(text: string): NetworkPolicy {
  const written = text.trim();
  if (written === "none" || written === "all") return written;
  const rules = written
    .split(",")
    .map((rule) => rule.trim())
    .filter((rule) => rule !== "");
  return checkNetworkPolicy({ allow: rules });
}

/** Checks a policy from outside. Returns its rules in canonical form, without duplicates. Throws `ARGUMENTS_INVALID`. */
export function checkNetworkPolicy(value: unknown): NetworkPolicy {
  if (value === "none" || value === "all") return value;
  const allow = readRules(value);
  if (allow.length === 0)
    throw new BelljarError("ARGUMENTS_INVALID", "A network policy names at least one rule; for no network, write none");
  if (allow.length > RULES_MAX) throw new BelljarError("ARGUMENTS_INVALID", `A network policy has at most ${RULES_MAX} rules`);
  return { allow: [...new Set(allow.map((rule) => parseRule(rule).text))] };
}

/** Returns the allowances of a policy's rules. The list is empty for `none` and `all`. */
export function allowancesOf(policy: NetworkPolicy): readonly Allowance[] {
  return typeof policy === "string" ? [] : policy.allow.flatMap((rule) => parseRule(rule).allowances);
}

/**
 * Returns true if `ceiling` allows everything that `policy` allows. `all` reaches only public addresses. An exact rule can reach others,
 * so it is never within `all`.
 */
export function narrows(policy: NetworkPolicy, ceiling: NetworkPolicy): boolean {
  if (policy === "none" || policy === ceiling) return true;
  if (policy === "all" || ceiling === "none") return false;
  const wide = allowancesOf(ceiling);
  return allowancesOf(policy).every((allowance) =>
    ceiling === "all" ? !allowance.isExact : wide.some((other) => covers(other, allowance)),
  );
}

/**
 * Returns the places (`host:port`) of the policy's exact rules that are certainly not on the public Internet, without those that `within`
 * names exactly too. The addresses of other names are known only when a program connects to them.
 */
export function namesInside(policy: NetworkPolicy, within: NetworkPolicy): readonly string[] {
  return exactPlaces(policy)
    .filter((place) => isInside(place) && !isNamed(within, place))
    .map(write);
}

/**
 * Returns the places of the policy's exact rules that may lead to addresses outside the public Internet, without those that `within`
 * names exactly too. If `inside` is given, only the places that it names exactly may lead there.
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

/** A name without a dot belongs to this machine's own network, and so does a name that ends in `.localhost`. */
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
