import type { FreezeRequest, FrozenState } from "../../runtime/contract/state-store.ts";
import { ended, notReady } from "../refusals.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { baseOf } from "../template-source.ts";
import { markFolder } from "./lost-files.ts";
import { finishRewind } from "./finish-rewind.ts";
import { lookUntil } from "./look-until.ts";
import { needStates } from "./state-errors.ts";
import type { StateParts } from "./state-parts.ts";
import { WAIT_MS } from "./work-lock.ts";

export interface Frozen extends FrozenState {
  /** A time before it was frozen. */
  readonly at: Date;
  /** Which folder of the host the workspace was. */
  readonly workspaceMark?: string | undefined;
  /** What of the host lay below it. */
  readonly baseMark?: string | undefined;
}

export interface FreezeWish extends Pick<FreezeRequest, "user" | "durable" | "isOwn"> {
  readonly record: SandboxRecord;
  readonly signal: AbortSignal;
}

/**
 * Freezes what a sandbox has written, whether it runs or is stopped. No run of it is started and none is put back meanwhile. `keep` writes
 * down whose the layers are; if it rejects, nothing is left. Rejects with `SANDBOX_ENDED` if the sandbox was killed meanwhile.
 */
export async function freezeSandbox<Kept>(parts: StateParts, request: FreezeWish, keep: (frozen: Frozen) => Promise<Kept>): Promise<Kept> {
  const { record, user, durable, isOwn, signal } = request;
  const states = needStates(parts.runtimes.need(record));
  const freeze = async (): Promise<Kept> => {
    await finishRewind(parts, record);
    const at = new Date();
    const workspaceMark = record.workspace && (await markFolder(record.workspace.path));
    const baseMark = states.markBase(baseOf(record));
    const found = await findRun(parts, record, signal);
    using _written = (await canBeAsked(parts, record)) ? await parts.beforeFreeze?.(found.run, signal) : undefined;
    const frozen = await states.freeze({ ...found, durable, isOwn, user }, signal);
    try {
      return await keep({ ...frozen, at, workspaceMark, baseMark });
    } catch (cause) {
      await states.letGo(frozen.layers, user);
      throw cause;
    }
  };
  try {
    return await parts.lock.run(record, { kind: "freeze", user }, freeze, signal);
  } catch (cause) {
    throw (await findEnd(parts, record)) ?? cause;
  }
}

type FoundRun = Pick<FreezeRequest, "run" | "isRunning">;

/**
 * The present run, or the last one. The caller has the lock of the work on it: a start that sees the lock gives its run back, and any other
 * run is soon up. Rejects with `SANDBOX_ENDED`, and with `RUNTIME_UNAVAILABLE` for a run that is long in the making.
 */
export async function findRun(parts: StateParts, record: SandboxRecord, signal: AbortSignal): Promise<FoundRun> {
  const found = await lookUntil(parts.journal.folder(record.id), () => lookForRun(parts, record), { ms: WAIT_MS, signal });
  if (found) return found;
  throw notReady(record);
}

async function lookForRun({ live }: StateParts, record: SandboxRecord): Promise<FoundRun | undefined> {
  const sandbox = await live.open(record);
  if (sandbox) return { run: live.states.runOf(record, sandbox), isRunning: true };
  const end = await live.ends.settle(record);
  if (end && !end.kept) throw ended(record, end.reason);
  const state = await live.states.read(record);
  if (!end || state.phase !== "stopped") return undefined;
  return { run: live.states.runOf(record, state), isRunning: false };
}

/** Nobody in a paused sandbox answers. One that sleeps is woken by every call, and for a state of it too. */
async function canBeAsked({ live }: StateParts, record: SandboxRecord): Promise<boolean> {
  const sandbox = await live.open(record);
  if (sandbox?.isPaused() !== true) return sandbox !== undefined;
  if ((await sandbox.usage()).pauseReason === "idle") await sandbox.resume();
  return !sandbox.isPaused();
}

/** What is read of a sandbox that is killed meanwhile may fail in any way. */
async function findEnd({ journal }: StateParts, record: SandboxRecord): Promise<Error | undefined> {
  const end = (await journal.read(record.id))?.end;
  return end && ended(record, end.reason);
}
