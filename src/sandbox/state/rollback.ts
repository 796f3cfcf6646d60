import type { SandboxEnd } from "../../runtime/contract/run.ts";
import type { LocalSandbox } from "../local-sandbox.ts";
import type { OwnRollback } from "../own-sandbox.ts";
import type { Principal } from "../sandbox.ts";
import { withStop } from "../run-states.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { beginAgain, type StartedRun, type StartWishes } from "../start-again.ts";
import { ended, notReady } from "../refusals.ts";
import { listEndingPrograms } from "./ending-programs.ts";
import { finishRewind, putBack, rewindUser } from "./finish-rewind.ts";
import { findRun } from "./freeze-sandbox.ts";
import { lookUntil } from "./look-until.ts";
import { type HostThen, tellLostFiles } from "./lost-files.ts";
import { needStates } from "./state-errors.ts";
import type { StateParts } from "./state-parts.ts";
import { WAIT_MS } from "./work-lock.ts";

/** A point of a sandbox's time line. */
export interface Point extends Pick<HostThen, "createdAt" | "workspaceMark" | "baseMark"> {
  readonly id: string;
  readonly layers: readonly string[];
}

export interface RollbackRequest {
  readonly record: SandboxRecord;
  readonly point: Point;
  readonly signal: AbortSignal;
  readonly principal?: Principal;
}

/** Counts the next run of a sandbox, does `prepare`, and starts the run. Its start command has not run. */
export type StartRun = (
  record: SandboxRecord,
  options: { readonly signal: AbortSignal; readonly principal?: Principal; readonly prepare: () => Promise<StartWishes> },
) => Promise<StartedRun>;

/**
 * Puts a sandbox back to a point, in steps:
 *
 *     step                                       a process that dies after it leaves
 *     1  the lock of the work; hold the layers   the sandbox as it was
 *     2  stop the run                            a run that has ended, which whoever looks next notes as stopped
 *     3  the state is stopped, names the point   a stopped sandbox, which whoever looks next puts back
 *     4  the runtime puts it back                the same
 *     5  start the next run: from its first      a run that nobody holds, as after any start
 *        write on the state names no point
 *     6  without the lock: the start command     the same
 *
 * The keeper knows the end of the run alone, and tells nobody that the sandbox ended: it was stopped. Who holds it finds the lock.
 */
export async function rollback(parts: StateParts & { readonly startRun: StartRun }, request: RollbackRequest): Promise<OwnRollback> {
  const { record, point, signal, principal } = request;
  const user = rewindUser(record);
  const states = needStates(parts.runtimes.need(record));
  let programs: readonly string[] = [];
  const prepare = async (): Promise<StartWishes> => {
    const before = await lookBefore(parts, record, signal);
    programs = before.programs;
    // What a stop has promised to keep goes only when what takes its place is as safe.
    await stopAndMark(parts, request, before.sandbox);
    await putBack(parts, record);
    return { ...before.wishes, isPutBack: true };
  };
  const work = async (): Promise<RolledBack> => {
    await finishRewind(parts, record);
    const lost = await tellLostFiles(
      { workspace: record.workspace, template: record.template, base: record.base, ...point },
      states,
      signal,
    );
    await states.hold(point.layers, user);
    try {
      const started = await parts.startRun(record, { signal, prepare, ...(principal && { principal }) });
      return { checkpoint: point.id, ended: programs, lost, started };
    } finally {
      if (!(await parts.live.states.read(record)).rewind) await states.letGo(point.layers, user);
    }
  };
  const { started, ...told } = await parts.lock.run(record, { kind: "rollback", user }, work, signal);
  return { ...told, sandbox: await beginAgain(started, { signal, report: parts.report }) };
}

type RolledBack = Omit<OwnRollback, "sandbox"> & { readonly started: StartedRun };

interface Before {
  /** Undefined: it is stopped. */
  readonly sandbox?: LocalSandbox;
  readonly programs: readonly string[];
  readonly wishes: StartWishes;
}

/** What the next run inherits, and what ends with this one. */
async function lookBefore(parts: StateParts, record: SandboxRecord, signal: AbortSignal): Promise<Before> {
  const { isRunning } = await findRun(parts, record, signal);
  const sandbox = isRunning ? parts.live.held(record.id) : undefined;
  if (!sandbox) return { programs: [], wishes: {} };
  const { phase, deadline, pauseReason } = await sandbox.usage();
  const programs = phase === "running" ? await listEndingPrograms(sandbox.guest) : [];
  // What has paused at its deadline has another one now, until which it may stay so: it gets its full lifetime, as when it is woken.
  return { sandbox, programs, wishes: pauseReason === "deadline" ? {} : { deadline: deadline ?? "none" } };
}

async function stopAndMark(parts: StateParts, request: RollbackRequest, sandbox: LocalSandbox | undefined): Promise<void> {
  if (!sandbox) {
    await parts.live.flush(request.record);
    return mark(parts, request);
  }
  const { generation } = sandbox;
  await mark(parts, request, { generation, end: await sandbox.stopUnwritten() });
  await parts.live.letGo(sandbox.id, generation);
}

interface EndedRun {
  readonly generation: number;
  readonly end: SandboxEnd;
}

/**
 * From here on the sandbox is put back, whatever becomes of this process. `stop`: of its run, which nobody may have written down. A start
 * that came in between gives its run back.
 */
async function mark({ live, journal }: StateParts, { record, point, signal }: RollbackRequest, stop?: EndedRun): Promise<void> {
  const rewind = { point: point.id, layers: point.layers };
  const tryMark = async (): Promise<true | undefined> => {
    const state = await live.states.change(record, (now) => {
      const stopped = stop?.generation === now.generation ? (withStop(now, stop.end) ?? now) : now;
      return stopped.phase === "stopped" ? { ...stopped, rewind } : undefined;
    });
    const end = state ? undefined : (await journal.read(record.id))?.end;
    if (end) throw ended(record, end.reason);
    return state && true;
  };
  if (!(await lookUntil(journal.folder(record.id), tryMark, { ms: WAIT_MS, signal }))) throw notReady(record);
}
