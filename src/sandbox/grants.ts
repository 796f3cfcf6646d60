import { BelljarError } from "../errors.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { Limits, Workspace } from "../runtime/contract/sandbox-spec.ts";
import type { NetworkState } from "./network/network-state.ts";
import { assertWithin } from "./network-ceiling.ts";
import { type FolderOf, shownFolder } from "./shown-folder.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { CreateOptions, Principal, Quotas } from "./sandbox.ts";
import type { NamedWorkspace } from "./wire/create-schema.ts";
import { isBelow } from "../files/is-below.ts";

/** The least first: a copy reads a folder once, `ro` lets programs look into it while it changes, `rw` lets them change it. */
const MODES = ["copy", "ro", "rw"] as const satisfies readonly Workspace["mode"][];

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
    throw new BelljarError("FORBIDDEN", `This caller may give a sandbox ${name} of at most ${most}, not ${value}: ask for less`);
  }
}

/** Throws `FORBIDDEN` for a caller with a token: what the option touches is everybody's. */
export function assertWithoutToken(option: keyof CreateOptions, { grants }: Principal): void {
  if (grants === undefined) return;
  throw new BelljarError("FORBIDDEN", `A caller with a token cannot ask for ${option}: ask whoever runs the server to configure it`);
}

/** Throws `FORBIDDEN` for a caller without a token, to whom a snapshot must not show a folder of the host once more. */
export function assertMayShowAgain({ isAnybody }: Principal, source: FolderOf): void {
  const folder = shownFolder(source);
  if (!isAnybody || !folder) return;
  const advice = `use a token with the scope workspace:${folder.path}`;
  throw new BelljarError(
    "FORBIDDEN",
    `A caller without a token may make no sandbox from a snapshot that shows a folder of the host: ${advice}`,
  );
}

/** The limits that hold or there is no sandbox: who was granted only so much gets no more where the host cannot enforce it. */
export function requiredByGrant({ grants }: Principal): readonly (keyof Limits)[] {
  return entries(grants?.limits ?? {}).map(([name]) => name);
}

/** A folder as the principal may have it: in the mode that is wanted, or the most that it was granted; undefined when that is nothing. */
export function workspaceWithin(workspace: NamedWorkspace, { grants }: Principal): NamedWorkspace | undefined {
  if (grants === undefined) return workspace;
  const { path, mode } = workspace;
  const folders = (grants.workspaces ?? []).filter((folder) => isBelow(path, folder.path));
  const most = Math.max(-1, ...folders.map((folder) => MODES.indexOf(folder.mode)));
  const allowed = MODES[Math.min(most, MODES.indexOf(mode), MODES.indexOf(grants.readOnly ? "ro" : "rw"))];
  return allowed && { path, mode: allowed };
}

/** Throws `FORBIDDEN` and names the scope that is missing. */
export function assertWorkspaceGranted(workspace: Workspace, principal: Principal): void {
  if (workspaceWithin(workspace, principal)?.mode === workspace.mode) return;
  throw new BelljarError("FORBIDDEN", `${workspaceRefusal(workspace, principal)}: use one that may, or name another folder`);
}

function workspaceRefusal({ path, mode }: Workspace, { grants }: Principal): string {
  if (grants?.readOnly && mode === "rw") return `This token may only read (its scope read-only), so it has ${path} never as rw`;
  return `This token has no scope workspace:${path}:${mode}, nor workspaces`;
}

/** A policy that nobody named, for a caller who was granted less of it the grant. */
export async function policyWithin(policy: NetworkPolicy, { grants }: Principal): Promise<NetworkPolicy> {
  if (grants?.network === undefined || policy === "none") return policy;
  const { narrows } = await import("../network/check-policy.ts");
  return narrows(policy, grants.network) ? policy : grants.network;
}

/**
 * Which exact rules of the principal's may lead to addresses that are not of the public Internet: those that a scope names.
 * Undefined for one without grants, whose rules all may.
 */
export function insideOf({ grants }: Pick<Principal, "grants">): NetworkPolicy | undefined {
  return grants && (grants.network ?? "none");
}

/** Rejects with `FORBIDDEN` for a policy that goes beyond what the principal was granted, and names the scope that is missing. */
export async function assertNetworkGranted(policy: NetworkPolicy, { grants }: Pick<Principal, "grants">): Promise<void> {
  if (grants === undefined || policy === "none") return;
  const { network: most = "all" } = grants;
  if (most !== "all") await assertWithin(policy, most);
  const { namesInside } = await import("../network/check-policy.ts");
  const missing = namesInside(policy, most)[0];
  if (missing !== undefined) throw withoutNetwork(missing);
}

/** Why a principal may not use a sandbox of its own, as another token of the same owner may have made it; undefined when it may. */
export async function findUseRefusal(
  principal: Principal,
  record: Pick<SandboxRecord, "id"> & FolderOf,
  network: NetworkState,
): Promise<BelljarError | undefined> {
  try {
    const folder = shownFolder(record);
    if (folder) assertWorkspaceGranted(folder, principal);
    await assertUsableNetwork(network, principal);
    return undefined;
  } catch (cause) {
    if (!(cause instanceof BelljarError) || cause.code !== "FORBIDDEN") throw cause;
    return new BelljarError("FORBIDDEN", `Sandbox ${record.id} was made with more than this token may have. ${cause.message}`, { cause });
  }
}

/** Rejects with `FORBIDDEN` for a network that reaches more than the principal was granted. */
export async function assertUsableNetwork({ policy, inside }: NetworkState, { grants }: Principal): Promise<void> {
  if (grants === undefined || policy === "none") return;
  const { network: most = "all" } = grants;
  if (most !== "all") await assertWithin(policy, most);
  const { reachesInside } = await import("../network/check-policy.ts");
  const missing = reachesInside(policy, { inside, within: most })[0];
  if (missing !== undefined) throw withoutNetwork(missing);
}

function withoutNetwork(rule: string): BelljarError {
  return new BelljarError(
    "FORBIDDEN",
    `A rule for an address outside the public Internet needs the scope network:${rule}, and this token does not have it: use a token with that scope`,
  );
}

/** Of each that `most` names. */
export function least(limits: Limits, most: Limits): Limits {
  return Object.fromEntries(entries(most).map(([name, value]) => [name, Math.min(limits[name] ?? value, value)]));
}

function entries(limits: Limits): readonly (readonly [keyof Limits, number])[] {
  return (Object.entries(limits) as [keyof Limits, number | undefined][]).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
}
