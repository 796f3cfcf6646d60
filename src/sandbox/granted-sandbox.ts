import { findUseRefusal } from "./grants.ts";
import { lockedSandbox } from "./locked-sandbox.ts";
import type { NetworkState } from "./network/network-state.ts";
import type { Runtimes } from "./runtimes.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Principal, Sandbox } from "./sandbox.ts";

/** A sandbox of this home, whoever its owner is. `principal`: whose wish it is; absent: one without grants. */
export interface OwnSandbox extends Omit<Sandbox, "setNetwork" | "start"> {
  readonly record: SandboxRecord;
  networkState(): Promise<NetworkState>;
  setNetwork(policy: NetworkState["policy"], options?: { readonly capped?: boolean; readonly principal?: Principal }): Promise<void>;
  start(signal: AbortSignal, principal?: Principal): Promise<OwnSandbox>;
}

/**
 * A sandbox as a principal with grants has it: what it changes is held to them. One that reaches more than they allow, as another token
 * of the same owner may have made it, it can look at and end, and no more.
 */
export async function grantedSandbox(sandbox: OwnSandbox, principal: Principal, runtimes: Runtimes): Promise<Sandbox> {
  if (principal.grants === undefined) return sandbox;
  const { record } = sandbox;
  const refusal = runtimes.findUseRefusal(principal, record) ?? (await findUseRefusal(principal, record, await sandbox.networkState()));
  return { ...delegate(sandbox, principal, runtimes), ...(refusal && lockedSandbox(refusal)) };
}

function delegate(sandbox: OwnSandbox, principal: Principal, runtimes: Runtimes): Sandbox {
  return {
    id: sandbox.id,
    inside: sandbox.inside,
    guest: sandbox.guest,
    ...(sandbox.ended && { ended: sandbox.ended }),
    ...(sandbox.generation !== undefined && { generation: sandbox.generation }),
    ...(sandbox.lastStop && { lastStop: () => sandbox.lastStop?.() ?? Promise.resolve(undefined) }),
    connect: (signal) => sandbox.connect(signal),
    info: () => sandbox.info(),
    usage: () => sandbox.usage(),
    knownOomKills: () => sandbox.knownOomKills(),
    setNetwork: (policy, options) => sandbox.setNetwork(policy, { ...options, principal }),
    watchRefusals: () => sandbox.watchRefusals(),
    environment: () => sandbox.environment(),
    ports: () => sandbox.ports(),
    portLinks: () => sandbox.portLinks(),
    registerPort: (port, access, expiresAt) => sandbox.registerPort(port, access, expiresAt),
    removePort: (port) => sandbox.removePort(port),
    workspaceBase: (keys) => sandbox.workspaceBase(keys),
    workspaceBaseText: (key) => sandbox.workspaceBaseText(key),
    extend: (timeoutMs, action) => sandbox.extend(timeoutMs, action),
    stop: () => sandbox.stop(),
    start: async (signal) => grantedSandbox(await sandbox.start(signal, principal), principal, runtimes),
    kill: () => sandbox.kill(),
  };
}
