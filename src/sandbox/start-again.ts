import { BelljarError } from "../errors.ts";
import { printable } from "../files/printable.ts";
import type { RunningSandbox } from "../runtime/contract/run.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import type { SandboxSpec } from "../runtime/contract/sandbox-spec.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import { trustAuthority, TRUST_MS } from "./network/trust-authority.ts";
import { ended, notReady, startCancelled } from "./refusals.ts";
import type { RunState } from "./run-states.ts";
import { nextRun, withoutRewind } from "./run-states.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { lookUntil } from "./state/look-until.ts";
import { busy } from "./state/state-errors.ts";
import { WAIT_MS } from "./state/work-lock.ts";
import { findStartFailure, START_LOG } from "./start-command.ts";
import { toSpec } from "./to-spec.ts";

/** Of an error that a start command meets. */
const REPORTED_MAX = 200;

export interface StartRequest {
  readonly record: SandboxRecord;
  readonly runtime: Runtime;
  /** Limits that the caller needs, in addition to those of every run. */
  readonly required: SandboxSpec["required"];
  readonly signal: AbortSignal;
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

export interface StartedRun {
  readonly sandbox: LocalSandbox;
  /** This call has started it, and is to run its start command. */
  readonly isNew: boolean;
}

/**
 * Starts the next run of a stopped sandbox, with its files, its network and its links. If several processes do so at once, one of them
 * starts it, and the others get its run. A start waits while the sandbox is frozen or put back, or another one starts it: for some seconds,
 * then it rejects with `RUNTIME_UNAVAILABLE`. If the run cannot be started, the sandbox stays stopped. Its start command has not run.
 */
export async function startAgain(live: LiveSandboxes, request: StartRequest): Promise<StartedRun> {
  const { record, signal, work } = request;
  if (signal.aborted) throw startCancelled(record, signal);
  const { folder } = live.states.runOf(record, await live.states.read(record));
  const started = await lookUntil(folder, () => tryStart(live, request), { ms: WAIT_MS, signal });
  if (started) return started;
  if (signal.aborted) throw startCancelled(record, signal);
  throw (await work.isFree(record)) ? notReady(record) : busy(record);
}

/** Undefined while somebody else starts it, freezes it or puts it back. */
async function tryStart(live: LiveSandboxes, request: StartRequest): Promise<StartedRun | undefined> {
  const { record, signal, wishes, work } = request;
  if (!wishes?.isPutBack && (await live.states.read(record)).rewind) await work.finish(record, signal);
  const isFree = async (): Promise<boolean> => wishes?.isPutBack === true || work.isFree(record);
  if (!(await isFree())) return ofOther(await live.open(record));
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
  if (wishes?.isPutBack) await trustAgain(live, sandbox);
  return { sandbox, isNew: true };
}

function ofOther(sandbox: LocalSandbox | undefined): StartedRun | undefined {
  return sandbox && { sandbox, isNew: false };
}

/** Files that were put back may be older than its authority. */
async function trustAgain(live: LiveSandboxes, sandbox: LocalSandbox): Promise<void> {
  const { authority } = (await live.networks.read(sandbox.record)).state;
  if (authority) await trustAuthority(sandbox.guest, authority.certificatePem, AbortSignal.timeout(TRUST_MS));
}

/**
 * Runs the start command of a run that this call has started, and waits until it is ready: as long as its maker gave it, a minute by
 * default, or until the caller gives up. The run is there whatever becomes of the command, for whoever wants to know why.
 */
export async function beginAgain(
  { sandbox, isNew }: StartedRun,
  { signal, report }: { readonly signal: AbortSignal; readonly report: (problem: string) => void },
): Promise<LocalSandbox> {
  const { guest, record } = sandbox;
  if (!isNew || !record.start) return sandbox;
  const failed = await findStartFailure(guest, record.start, signal).catch((cause: unknown) => `cannot be run: ${toLine(cause)}`);
  // The command goes on without a caller that gave up.
  if (failed === undefined || signal.aborted) return sandbox;
  report(`Sandbox ${record.id} was started again without its start command, which ${failed} (${START_LOG} in it has what it printed)`);
  return sandbox;
}

function toLine(cause: unknown): string {
  return printable(String(cause)).slice(0, REPORTED_MAX);
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
    const mounts = await live.mountsOf(record);
    const made = runtime.create(toSpec(run, record, { ...deadline, deadlineAction: state.action, required, mounts }), signal);
    return await beside(made, live.flushState(record));
  } catch (cause) {
    const end = await runtime.clear(run).catch(() => undefined);
    if (end?.kept) await live.states.change(record, (now) => giveBack(now, state, before));
    throw signal.aborted ? startCancelled(record, signal) : cause;
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

async function startedByOther(live: LiveSandboxes, record: SandboxRecord): Promise<StartedRun | undefined> {
  const sandbox = await live.open(record);
  if (sandbox) return ofOther(sandbox);
  const info = await live.findInfo(record);
  if (info?.state === "ended" && info.endReason) throw ended(record, info.endReason);
  return undefined;
}

/** What this host cannot do any more is no reason to refuse a run that is up. */
function unlessUnsupported(cause: unknown): void {
  if (!(cause instanceof BelljarError && cause.code === "NOT_SUPPORTED")) throw cause;
}
