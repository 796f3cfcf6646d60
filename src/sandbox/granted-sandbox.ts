import type { BelljarError } from "../errors.ts";
import { findUseRefusal } from "./grants.ts";
import { lockedSandbox } from "./locked-sandbox.ts";
import type { OwnSandbox, OwnTimeLine } from "./own-sandbox.ts";
import type { Runtimes } from "./runtimes.ts";
import type { CreatedSandbox, Principal, Sandbox, TimeLine } from "./sandbox.ts";

/**
 * A sandbox as a principal with grants has it: what it changes is held to them. One that reaches more than they allow, as another token
 * of the same owner may have made it, it can look at and end, and no more.
 */
export async function grantedSandbox(sandbox: OwnSandbox, principal: Principal, runtimes: Runtimes): Promise<Sandbox> {
  if (principal.grants === undefined) return sandbox;
  const refusal = await findRefusal({ record: sandbox.record, networkState: () => sandbox.networkState() }, principal, runtimes);
  return { ...delegate(sandbox, principal, runtimes), ...(refusal && lockedSandbox(refusal)) };
}

/** A new sandbox as its maker has it, with what of its snapshot is not as it was. Nobody else who has it made it. */
export async function createdSandbox(
  { sandbox, lost }: { readonly sandbox: OwnSandbox; readonly lost?: readonly string[] | undefined },
  principal: Principal,
  runtimes: Runtimes,
): Promise<CreatedSandbox> {
  const granted = await grantedSandbox(sandbox, principal, runtimes);
  if (!lost) return granted;
  return { ...(granted === sandbox ? delegate(sandbox, principal, runtimes) : granted), lost };
}

/** Why the principal may only look at this sandbox and end it. Undefined if it may use it. */
export async function findRefusal(
  { record, networkState }: Pick<OwnSandbox, "record" | "networkState">,
  principal: Principal,
  runtimes: Runtimes,
): Promise<BelljarError | undefined> {
  // Nobody finds a hidden one, and its maker was held to what it was made with.
  if (principal.grants === undefined || record.isHidden) return undefined;
  return runtimes.findUseRefusal(principal, record) ?? findUseRefusal(principal, record, await networkState());
}

function delegate(sandbox: OwnSandbox, principal: Principal, runtimes: Runtimes): Sandbox {
  return {
    id: sandbox.id,
    owner: sandbox.owner,
    inside: sandbox.inside,
    guest: sandbox.guest,
    timeLine: grantedTimeLine(sandbox.timeLine, principal, runtimes),
    ...(sandbox.ended && { ended: sandbox.ended }),
    ...(sandbox.generation !== undefined && { generation: sandbox.generation }),
    ...(sandbox.isPaused && { isPaused: () => sandbox.isPaused?.() ?? false }),
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
    pause: () => sandbox.pause(),
    resume: () => sandbox.resume(),
    stop: () => sandbox.stop(),
    start: async (signal) => grantedSandbox(await sandbox.start(signal, principal), principal, runtimes),
    kill: () => sandbox.kill(),
  };
}

function grantedTimeLine(timeLine: OwnTimeLine, principal: Principal, runtimes: Runtimes): TimeLine {
  return {
    list: () => timeLine.list(),
    checkpoint: (options, signal) => timeLine.checkpoint(options, signal),
    beforeCall: (tool, signal) => timeLine.beforeCall(tool, signal),
    rollback: async (point, signal) => {
      const { sandbox, ...result } = await timeLine.rollback(point, signal, principal);
      return { ...result, sandbox: await grantedSandbox(sandbox, principal, runtimes) };
    },
    remove: (checkpoint) => timeLine.remove(checkpoint),
    diff: (points, signal) => timeLine.diff(points, signal),
    undo: (to, paths, signal) => timeLine.undo(to, paths, signal),
    merge: (from, paths, signal) => timeLine.merge(from, paths, signal),
  };
}
