import { isIPv6 } from "node:net";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { kindOfAddress } from "../../../network/egress/addresses.ts";
import { isAddress, toCanonicalHost } from "../../../network/host-name.ts";
import type { NetworkPolicy } from "../../../network/policy.ts";
import { policyWithin } from "../../../sandbox/grants.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { E2bSettings } from "../e2b.ts";

const ALL_TRAFFIC = "0.0.0.0/0";
const ALL_OF_IPV6 = "::/0";
const NO_ADDRESSES: ReadonlySet<string> = new Set();

const places = z.array(z.string().min(1).max(300)).max(256);
const transform = z.object({ transform: z.unknown().optional() });

/** What a client says of the way out. */
export const egressFields = {
  allowOut: places
    .nullish()
    .describe("Names of hosts, `*.` below a name, and addresses. With `0.0.0.0/0` in `denyOut` these alone are reached"),
  denyOut: places.nullish().describe("`0.0.0.0/0`, or nothing"),
  egressProxy: z.unknown().optional().describe("Refused"),
  rules: z.record(z.string().max(300), z.array(transform).max(32)).nullish().describe("Without transforms, which are refused"),
};

const egressSchema = z.object(egressFields);

export type NetworkWish = z.output<typeof egressSchema> & { readonly allow_internet_access?: boolean | null | undefined };

/**
 * The policy that a client asks for. Who says nothing gets the configuration's, cut to the token's scope. What the policies of this server
 * cannot say rejects with `NOT_SUPPORTED` or `ARGUMENTS_INVALID`: nothing is left out in silence. No rule of such a policy names a port, so
 * none leads to a place that is not of the public Internet.
 */
export async function toPolicy(wish: NetworkWish, settings: Pick<E2bSettings, "network">, caller: Principal): Promise<NetworkPolicy> {
  refuseUnsupported(wish);
  const { allowOut, denyOut, allow_internet_access: internet } = wish;
  const allowed = (allowOut ?? []).map(parsePlace);
  const isDenied = internet === false || deniesAll(denyOut ?? []);
  if (!isDenied && allowed.some(({ kind }) => kind === "name")) throw new BelljarError("ARGUMENTS_INVALID", NEEDS_DENIAL);
  if (!isDenied || allowed.some(({ kind }) => kind === "all")) return standardPolicy(settings.network, caller);
  if (allowed.length === 0) return "none";
  const { checkNetworkPolicy } = await import("../../../network/check-policy.ts");
  return checkNetworkPolicy({ allow: allowed.map(({ rule }) => rule) });
}

const NEEDS_DENIAL = "When specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out to block all other traffic.";

/** The configuration's, as far as the caller was granted it. A scope for a place inside is none for clients of E2B. */
async function standardPolicy(standard: NetworkPolicy, caller: Principal): Promise<NetworkPolicy> {
  const policy = await policyWithin(standard, caller);
  if (typeof policy === "string") return policy;
  const { namesInside } = await import("../../../network/check-policy.ts");
  const allow = policy.allow.filter((rule) => namesInside({ allow: [rule] }, "none").length === 0);
  return allow.length > 0 ? { allow } : "none";
}

function refuseUnsupported({ egressProxy, rules }: NetworkWish): void {
  if (egressProxy !== undefined && egressProxy !== null)
    throw notSupported("egressProxy", "sandboxes reach the Internet by this server alone");
  const rewritten = Object.entries(rules ?? {}).find(([, list]) => list.some(changesHeaders));
  if (rewritten)
    throw notSupported(
      `the transform for ${JSON.stringify(rewritten[0].slice(0, 100))}`,
      "keep a key out of a sandbox with a secret of Belljar",
    );
}

function changesHeaders({ transform: change }: z.output<typeof transform>): boolean {
  return change !== undefined && change !== null;
}

function deniesAll(denied: readonly string[]): boolean {
  if (denied.length === 0) return false;
  const other = denied.find((text) => text !== ALL_TRAFFIC && text !== ALL_OF_IPV6);
  if (other !== undefined || !denied.includes(ALL_TRAFFIC))
    throw notSupported(
      `denyOut with ${JSON.stringify((other ?? ALL_OF_IPV6).slice(0, 100))}`,
      `a network is open, or closed but for a list: deny ${ALL_TRAFFIC}, and name in allowOut what may be reached`,
    );
  return true;
}

type Allowed = { readonly kind: "all" | "name" | "address"; readonly rule: string };

function parsePlace(text: string): Allowed {
  if (text === ALL_TRAFFIC || text === "*") return { kind: "all", rule: text };
  const host = toCanonicalHost(text.replace(/^\*\./, "").replace(/\/(?:32|128)$/, ""));
  if (host !== undefined && isAddress(host)) return { kind: "address", rule: toAddressRule(text, host) };
  if (/\/\d+$/.test(text))
    throw notSupported(`allowOut with the range ${JSON.stringify(text.slice(0, 100))}`, "name single addresses, or hosts");
  // A name without a dot would be a set of rules, or a computer of this network.
  if (host === undefined || !host.includes(".") || text.includes("/"))
    throw new BelljarError("ARGUMENTS_INVALID", `allowOut has ${JSON.stringify(text.slice(0, 100))}, which names no host of the Internet`);
  return { kind: "name", rule: text.startsWith("*.") ? `*.${host}` : host };
}

function toAddressRule(text: string, address: string): string {
  if (kindOfAddress(address, NO_ADDRESSES) !== "public" || text.startsWith("*."))
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `allowOut has ${JSON.stringify(text.slice(0, 100))}, which is no address of the public Internet`,
    );
  return isIPv6(address) ? `[${address}]` : address;
}

function notSupported(what: string, advice: string): BelljarError {
  return new BelljarError("NOT_SUPPORTED", `This server cannot keep ${what}: ${advice}`);
}

/** A policy as E2B's clients read it. */
export function toEgress(policy: NetworkPolicy): { readonly allowOut?: readonly string[]; readonly denyOut?: readonly string[] } {
  if (policy === "all") return {};
  if (policy === "none") return { denyOut: [ALL_TRAFFIC] };
  return { allowOut: policy.allow.map((rule) => rule.replace(/^\[(.*)\]$/, "$1")), denyOut: [ALL_TRAFFIC] };
}
