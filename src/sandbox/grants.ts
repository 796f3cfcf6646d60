import { BelljarError } from "../errors.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { Limits } from "../runtime/runtime.ts";
import type { Principal, Quotas } from "./sandbox.ts";

/** Whether the principal may use a toolset: its tools, and what else tells of the same things. */
export function hasToolset({ grants }: Principal, toolset: string): boolean {
  return grants?.toolsets?.includes(toolset) ?? true;
}

/** What holds for the principal: its own quotas, and for the rest the configuration's. */
export function quotasOf({ grants }: Principal, standard: Quotas = {}): Quotas {
  return { ...standard, ...grants?.quotas };
}

/** Limits that nobody named: none is larger than the principal's most, nor than all the memory that its sandboxes may have together. */
export function cutLimits<Given extends Limits>(limits: Given, principal: Principal, standard?: Quotas): Given {
  const { memoryBytes } = quotasOf(principal, standard);
  const most = [principal.grants?.limits ?? {}, memoryBytes === undefined ? {} : { memoryBytes }];
  return most.reduce<Given>((cut, one) => ({ ...cut, ...least(cut, one) }), limits);
}

/** Throws `FORBIDDEN`, with the value, when a named limit is larger than the principal's most. */
export function assertGranted(named: Limits, { grants }: Principal): void {
  for (const [name, most] of entries(grants?.limits ?? {})) {
    const value = named[name];
    if (value === undefined || value <= most) continue;
    throw new BelljarError("FORBIDDEN", `A sandbox of this caller may have ${name} of at most ${most}, not ${value}: name no more`);
  }
}

/** The limits that hold or there is no sandbox: who was granted only so much gets no more where the host cannot enforce it. */
export function requiredByGrant({ grants }: Principal): readonly (keyof Limits)[] {
  return entries(grants?.limits ?? {}).map(([name]) => name);
}

/** A policy that nobody named, for a caller who was granted less of it the grant. */
export async function policyWithin(policy: NetworkPolicy, { grants }: Principal): Promise<NetworkPolicy> {
  if (grants?.network === undefined || policy === "none") return policy;
  const { narrows } = await import("../network/check-policy.ts");
  return narrows(policy, grants.network) ? policy : grants.network;
}

function least(limits: Limits, most: Limits): Limits {
  return Object.fromEntries(entries(most).map(([name, value]) => [name, Math.min(limits[name] ?? value, value)]));
}

function entries(limits: Limits): readonly (readonly [keyof Limits, number])[] {
  return (Object.entries(limits) as [keyof Limits, number | undefined][]).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
}
