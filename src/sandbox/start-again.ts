import { BelljarError } from "../errors.ts";
import type { RunningSandbox, Runtime, SandboxSpec } from "../runtime/runtime.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import { cancelled, ended, notReady } from "./refusals.ts";
import type { RunState } from "./run-states.ts";
import { nextRun, withoutRewind } from "./run-states.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { lookUntil } from "./state/look-until.ts";
import { busy } from "./state/state-errors.ts";
import { WAIT_MS } from "./state/work-lock.ts";
import { runStartCommand } from "./start-command.ts";
import { toSpec } from "./to-spec.ts";

export interface StartRequest {
  readonly record: SandboxRecord;
  readonly runtime: Runtime;
  /** Limits that the caller needs, in addition to those of every run. */
  readonly required: SandboxSpec["required"];
  readonly signal: AbortSignal;
  /** Told, in one sentence, what a person should know though no call fails. */
  readonly report: (problem: string) => void;
  readonly wishes?: StartWishes | undefined;
  /** What is done to the states of the sandbox. No run may start meanwhile. */
  readonly work: StartGuard;
}

export interface StartWishes {
  /** Default: the full lifetime. */
  readonly deadline?: Date | "none";
  /** The caller has the lock of the work on the sandbox's states, and has put the sandbox back to the point that its state names. */
  readonly isPutBack?: boolean;
}

export interface StartGuard {
  /** Puts the sandbox back where a process died that was doing so. Rejects with `RUNTIME_UNAVAILABLE` if another one does so for long. */
  finish(record: SandboxRecord, signal: AbortSignal): Promise<void>;
  isFree(record: SandboxRecord): Promise<boolean>;
}

/**
 * Starts the next run of a stopped sandbox, with its files, its network and its links. If several processes do so at once, one of them
 * starts it, and the others get its run. A start waits while the sandbox is frozen or put back. What takes longer than some seconds is
 * `RUNTIME_UNAVAILABLE`. If the run cannot be started, the sandbox stays stopped.
 */
export async function startAgain(live: LiveSandboxes, request: StartRequest): Promise<LocalSandbox> {
  const { record, signal, work } = request;
  if (signal.aborted) throw cancelled(signal);
  const { folder } = live.states.runOf(record, await live.states.read(record));
  const sandbox = await lookUntil(folder, () => tryStart(live, request), { ms: WAIT_MS, signal });
  if (sandbox) return sandbox;
  if (signal.aborted) throw cancelled(signal);
  throw (await work.isFree(record)) ? notReady(record) : busy(record);
}

/** Undefined while somebody else starts it, freezes it or puts it back. */
async function tryStart(live: LiveSandboxes, request: StartRequest): Promise<LocalSandbox | undefined> {
  const { record, signal, wishes, work, report } = request;
  if (!wishes?.isPutBack && (await live.states.read(record)).rewind) await work.finish(record, signal);
  const isFree = async (): Promise<boolean> => wishes?.isPutBack === true || work.isFree(record);
  if (!(await isFree())) return live.open(record);
  let before: RunState["stopped"];
  const state = await live.states.change(record, (found) => {
    const now = wishes?.isPutBack ? withoutRewind(found, { isDone: true }) : found;
    before = now.stopped;
    return now.phase === "stopped" && !now.rewind ? nextRun(now) : undefined;
  });
  if (!state) return startedByOther(live, record);
  if (!(await isFree())) {
    await live.states.change(record, (now) => giveBack(now, state, before));
    return undefined;
  }
  const sandbox = await live.hold(record, await createRun(live, request, { state, before }));
  await sandbox.sleepWhenIdle().catch(unlessUnsupported);
  await live.networks.touch(record);
  live.announce(record);
  // Its files are there all the same, for whoever wants to know why.
  if (record.start)
    await runStartCommand(sandbox.guest, record.start, signal).catch((cause: unknown) => report(notReadyAgain(record, cause)));
  return sandbox;
}

function notReadyAgain({ id }: SandboxRecord, cause: unknown): string {
  return `Sandbox ${id} was started again without its start command: ${String(cause)}`;
}

interface NextRun {
  readonly state: RunState;
  readonly before: RunState["stopped"];
}

/** If the run fails, the sandbox becomes stopped again once that run is dead: two runs must never share the layers. */
async function createRun(
  live: LiveSandboxes,
  { record, runtime, required, signal, wishes = {} }: StartRequest,
  { state, before }: NextRun,
): Promise<RunningSandbox> {
  const { deadline: wished = new Date(Date.now() + record.timeoutMs) } = wishes;
  const deadline = wished === "none" ? {} : { deadline: wished };
  const run = live.states.runOf(record, state);
  try {
    const made = runtime.create(toSpec(run, record, { ...deadline, deadlineAction: state.action, required }), signal);
    return await beside(made, live.flushState(record));
  } catch (cause) {
    const end = await runtime.clear(run).catch(() => undefined);
    if (end?.kept) await live.states.change(record, (now) => giveBack(now, state, before));
    throw signal.aborted ? cancelled(signal) : cause;
  }
}

/** The disk is waited for while the guest comes up. If it fails, the run goes on, and whoever looks next finds it. */
async function beside(made: Promise<RunningSandbox>, flushed: Promise<void>): Promise<RunningSandbox> {
  const [flush] = await Promise.allSettled([flushed, made]);
  const running = await made;
  if (flush.status === "fulfilled") return running;
  await running.release();
  throw flush.reason;
}

function giveBack(now: RunState, mine: RunState, stopped: RunState["stopped"]): RunState | undefined {
  if (now.generation !== mine.generation || now.phase !== "running") return undefined;
  return { ...now, phase: "stopped", ...(stopped && { stopped }) };
}

async function startedByOther(live: LiveSandboxes, record: SandboxRecord): Promise<LocalSandbox | undefined> {
  const sandbox = await live.open(record);
  if (sandbox) return sandbox;
  const info = await live.findInfo(record);
  if (info?.state === "ended" && info.endReason) throw ended(record, info.endReason);
  return undefined;
}

/** What this host cannot do any more is no reason to refuse a run that is up. */
function unlessUnsupported(cause: unknown): void {
  if (!(cause instanceof BelljarError && cause.code === "NOT_SUPPORTED")) throw cause;
}
