import * as z from "zod";
import { BelljarError } from "../errors.ts";
import { NumberedFile } from "../files/numbered-file.ts";
import { parseJson } from "../files/parse-json.ts";
import type { FlushWish } from "../files/replace-file.ts";
import type { EndReason, RecordedRun, SandboxEnd } from "../runtime/contract/run.ts";
import { CREATOR, mayBeInTheMaking } from "./creator.ts";
import type { Journal } from "./journal.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { dateField, deadlineAction, endReason } from "./wire/fields.ts";

/** `point`: it was stopped to be put back there. */
const stop = z.object({ reason: endReason, at: dateField, point: z.string().optional() });

const stateSchema = z.object({
  version: z.literal(1),
  /** `deleted`: its files are being removed, and nobody may start it any more. */
  phase: z.enum(["running", "stopped", "deleted"]),
  generation: z.number().int().positive(),
  /** When and by whom the run was started. While that process lives, a run this young may still be in the making. */
  startedAt: dateField,
  creator: z.object({ pid: z.number().int().positive(), startedMs: z.number() }),
  /** The action at the deadline. Only the keeper knows the deadline: it moves with each use, and a full disk must not prevent that. */
  action: deadlineAction,
  /** Why it was stopped, and when. */
  stopped: stop.optional(),
  /** It is being put back to this point: its next run begins with these layers, whatever becomes of the process that does so. */
  rewind: z.object({ point: z.string(), layers: z.array(z.string()).readonly() }).optional(),
  /** The stop after which the present run was started. */
  after: stop.optional(),
  /** Of `deleted`: why, if nobody asked for it. */
  because: endReason.optional(),
});

/** What changes in a sandbox from run to run. */
export type RunState = Readonly<Omit<z.output<typeof stateSchema>, "version">>;

export type Rewind = NonNullable<RunState["rewind"]>;

/**
 * `sandboxes/<id>/state.<number>.json`. It is a numbered file: if several processes start, stop and delete one sandbox at once, each change
 * is made once, on top of the one before. There is no such file during the first run, unless somebody chose an action for the deadline.
 */
export class RunStates {
  readonly #journal: Pick<Journal, "folder" | "announce" | "flushRecord">;

  constructor(journal: Pick<Journal, "folder" | "announce" | "flushRecord">) {
    this.#journal = journal;
  }

  async read(record: SandboxRecord): Promise<RunState> {
    return (await this.#file(record.id).read(firstRun(record))).value;
  }

  /** The same at once. `names`: those in the sandbox's folder. */
  readNow(record: SandboxRecord, names: readonly string[]): RunState {
    return this.#file(record.id).readNow(firstRun(record), names).value;
  }

  /** The state of a sandbox whose record cannot be read. Undefined if no state was written. */
  async find(id: string): Promise<RunState | undefined> {
    return (await this.#file(id).read(undefined)).value;
  }

  /**
   * Writes and resolves with the state that `change` returns. If `change` returns undefined, writes nothing. Changes of the phase and
   * of a rewind outlive a power cut: otherwise a stopped sandbox could be taken for a first run that was lost, whose files are removed.
   * A plain stop or start does so only after a flush of the journal, which whoever promises it does beside other work.
   */
  async change(record: SandboxRecord, change: (state: RunState) => RunState | undefined): Promise<RunState | undefined> {
    let wanted: RunState | undefined;
    const note = async (state: RunState): Promise<RunState> => {
      wanted = change(state);
      if (wanted?.phase === "stopped" && state.phase !== "stopped") await this.#flushRecord(record);
      return wanted ?? state;
    };
    await this.#file(record.id).change(firstRun(record), note, flushOf);
    if (wanted) this.#journal.announce(record.id);
    return wanted;
  }

  /**
   * Nobody could use a stopped sandbox whose record a power cut has taken, or would dare to remove it. If the disk fails, the flush of a stop
   * that somebody asked for says so.
   */
  async #flushRecord({ id }: SandboxRecord): Promise<void> {
    await this.#journal.flushRecord(id).catch(() => undefined);
  }

  /** The run that the state speaks of. */
  runOf(record: SandboxRecord, { generation }: Pick<RunState, "generation">): RecordedRun {
    return { id: record.id, generation, folder: this.#journal.folder(record.id), inside: record.inside };
  }

  #file(id: string): NumberedFile<RunState> {
    return new NumberedFile({
      folder: this.#journal.folder(id),
      name: "state",
      title: `the state of sandbox ${id}`,
      serialise: (state) => JSON.stringify({ version: 1, ...state }),
      parse: (text, path) => parseState(text) ?? refuse(id, path),
    });
  }
}

function flushOf(before: RunState, after: RunState): FlushWish {
  if (before.phase === after.phase && before.rewind === after.rewind) return false;
  return after.phase === "deleted" || after.rewind !== undefined || "content";
}

/** Without the state nobody knows which run is the present one, so none is touched. */
function refuse(id: string, path: string): never {
  throw new BelljarError(
    "FILE_IO",
    `The state of sandbox ${id} is damaged, so nothing is done to it: restore ${path} from a backup, or save the files in that folder and remove the folder`,
  );
}

/** The run that a sandbox is made with. */
export function firstRun({ createdAt, creator, onDeadline }: SandboxRecord): RunState {
  return { phase: "running", generation: 1, startedAt: createdAt, creator, action: onDeadline ?? "kill" };
}

/** `isDone`: it was put back, so its next run shows the point, and whoever uses it is told. */
export function withoutRewind({ rewind, ...rest }: RunState, { isDone }: { readonly isDone: boolean }): RunState {
  const { stopped } = rest;
  return isDone && rewind && stopped ? { ...rest, stopped: { ...stopped, point: rewind.point } } : rest;
}

/** The run after a stop, made by this process. */
export function nextRun(state: RunState): RunState {
  const { stopped, after: _, ...rest } = state;
  const run = { generation: state.generation + 1, startedAt: new Date(), creator: CREATOR };
  return { ...rest, ...run, phase: "running", ...(stopped && { after: stopped }) };
}

/** Whether the run may still be in the making: its keeper holds no lock yet. */
export function mayBeStarting({ phase, startedAt: createdAt, creator }: RunState): boolean {
  return phase === "running" && mayBeInTheMaking({ createdAt, creator }, Date.now());
}

const UNASKED: ReadonlySet<EndReason> = new Set(["exited", "out_of_memory", "keeper_lost", "host_lost"]);

/** Whether the files of a run that ended so are kept if they are there. */
export function mayBeKept({ action }: RunState, { reason }: SandboxEnd): boolean {
  return action !== "kill" && UNASKED.has(reason);
}

/** The end of the run that was stopped. */
export function stopOf({ stopped, startedAt }: RunState): SandboxEnd {
  return { reason: stopped?.reason ?? "stopped", at: stopped?.at ?? startedAt, kept: true };
}

/** The state after a run ended and kept its files. Undefined if the sandbox is not running. */
export function withStop(state: RunState, { reason, at }: SandboxEnd): RunState | undefined {
  if (state.phase !== "running") return undefined;
  return { ...state, phase: "stopped", stopped: { reason, at } };
}

function parseState(text: string): RunState | undefined {
  const { data } = stateSchema.safeParse(parseJson(text));
  if (!data) return undefined;
  const { version: _version, ...state } = data;
  return state;
}
