import { randomBytes } from "node:crypto";
import { settleWithin } from "../../../../async/settle-within.ts";
import { BelljarError } from "../../../../errors.ts";
import type { ExecOptions, Guest } from "../../../../sandbox/sandbox.ts";
import type { Listening, ProcessStream } from "./envd-process.ts";
import { EnvdProcess } from "./envd-process.ts";
import type { Selector } from "./messages.ts";
import type { ProcessNote } from "./process-note.ts";
import { readNote, writeNote } from "./process-note.ts";

/** Of the commands that a sandbox keeps these are E2B's. */
const PREFIX = "e2b-";
/** A guest keeps 64. The rest is left to contexts and the like. */
const KEPT_MAX = 48;
/** All that may run at once, also those that are not kept. */
const PROCESSES_MAX = 512;
/** A process that has ended can be connected to for so long. */
const ENDED_MS = 30_000;
/** So many that have ended, the newest. */
const ENDED_MAX = 256;
/** So long a look at all waits for the ends of those that ended while nobody listened. They are told to the next look, then. */
const ENDS_MS = 1_000;
/** Why a guest does not keep a command: it has no room, it keeps none, or it is of an earlier release. */
const NOT_KEPT: ReadonlySet<string> = new Set(["PROCESS_LIMIT", "NOT_SUPPORTED", "GUEST_PROTOCOL"]);

/** What is started, and how. */
export interface Launch {
  readonly note: ProcessNote;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly user: string | undefined;
  readonly stdin: boolean;
  readonly terminal: { readonly rows: number; readonly cols: number } | undefined;
  readonly timeoutMs: number | undefined;
}

export interface Started {
  readonly process: EnvdProcess;
  readonly listening: Listening;
}

type TableGuest = Pick<Guest, "exec" | "keep" | "attach" | "listKept" | "describeKept">;

/**
 * The processes of E2B's clients in one run of a sandbox. Which there are is asked of the sandbox, so that after a restart of the server nothing is
 * missing. Of what more than 48 run at once, the rest lives only as long as this server.
 */
export class ProcessTable {
  readonly #guest: TableGuest;
  /** In the order of their starts, by the names under which they are kept. */
  readonly #known = new Map<string, EnvdProcess>();
  /** Those that have ended, and whose end is being taken. */
  readonly #ending = new Map<EnvdProcess, Promise<void>>();
  #starting = 0;

  constructor(guest: TableGuest) {
    this.#guest = guest;
  }

  /** The process lives on whatever becomes of its starter. Rejects as `Guest.exec` does. */
  async start(launch: Launch, signal: AbortSignal): Promise<Started> {
    if (this.#living() >= KEPT_MAX) await this.#refresh(signal);
    if (this.#living() >= PROCESSES_MAX)
      throw new BelljarError("PROCESS_LIMIT", `${PROCESSES_MAX} processes run in the sandbox; let some of them end first`);
    const name = PREFIX + randomBytes(8).toString("hex");
    const stop = new AbortController();
    this.#starting += 1;
    try {
      const stream = await this.#open(name, launch, stop.signal);
      const process = this.#add(name, stream.pid, launch.note);
      return { process, listening: process.begin(stream, stop) };
    } finally {
      this.#starting -= 1;
    }
  }

  /** Rejects with `PROCESS_NOT_FOUND`. */
  async find(selector: Selector, signal: AbortSignal): Promise<EnvdProcess> {
    const known = this.#pick(selector);
    // One to which nobody listens may have ended.
    if (known && (known.isOpen || known.hasEnded)) return known;
    await this.#refresh(signal);
    const found = this.#pick(selector);
    if (found) return found;
    const what = selector.tag === undefined ? `pid ${selector.pid}` : `tag ${selector.tag.slice(0, 200)}`;
    throw new BelljarError("PROCESS_NOT_FOUND", `process with ${what} not found`);
  }

  /** Those that run, by their pids. */
  async list(signal: AbortSignal): Promise<readonly EnvdProcess[]> {
    const living = await this.#refresh(signal);
    return [...this.#known.values()]
      .filter((process) => this.#isLiving(process) && (process.isOpen || living.has(process.name)))
      .toSorted((one, other) => one.pid - other.pid);
  }

  /** Leaves all of them as they are, but those that are not kept. */
  close(error: BelljarError): void {
    for (const process of this.#known.values()) process.close(error);
    this.#known.clear();
  }

  async #open(name: string, { note, ...launch }: Launch, signal: AbortSignal): Promise<ProcessStream> {
    const options = { ...toOptions(launch), signal };
    if (this.#living() > KEPT_MAX) return this.#hold(options);
    try {
      return await this.#guest.keep(name, { ...options, stays: true, note: writeNote(note) });
    } catch (error) {
      if (error instanceof BelljarError && NOT_KEPT.has(error.code)) return this.#hold(options);
      throw error;
    }
  }

  /** It lives as long as its stream. */
  async #hold(options: ExecOptions): Promise<ProcessStream> {
    return { ...(await this.#guest.exec(options)), detach: undefined };
  }

  #add(name: string, pid: number, note: ProcessNote): EnvdProcess {
    const process = new EnvdProcess({ name, pid, note, guest: this.#guest, onEnd: (ended) => this.#ended(ended) });
    this.#known.set(name, process);
    return process;
  }

  #ended(process: EnvdProcess): void {
    if (!process.hasEnded) this.#known.delete(process.name);
    else setTimeout(() => this.#known.delete(process.name), ENDED_MS).unref();
    const ended = [...this.#known.values()].filter(({ hasEnded }) => hasEnded);
    for (const { name } of ended.slice(0, -ENDED_MAX)) this.#known.delete(name);
  }

  /** With those that start. */
  #living(): number {
    return this.#starting + [...this.#known.values()].filter((process) => this.#isLiving(process)).length;
  }

  #isLiving(process: EnvdProcess): boolean {
    return !process.hasEnded && !this.#ending.has(process);
  }

  /** Pids come again: the newest one that fits, and one that lives before one that has ended. */
  #pick({ pid, tag }: Selector): EnvdProcess | undefined {
    const fitting = [...this.#known.values()]
      .filter((process) => (tag === undefined ? process.pid === pid : process.note.tag === tag))
      .toReversed();
    return fitting.find((process) => !process.hasEnded) ?? fitting[0];
  }

  /**
   * Asks the sandbox, and resolves with the names of those that live. What is neither kept nor known to have ended is forgotten. The end of what
   * ended while nobody listened is taken, which gives its place in the sandbox back.
   */
  async #refresh(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const before = new Set(this.#known.keys());
    const kept = (await this.#guest.listKept(signal)).filter(({ name }) => name.startsWith(PREFIX));
    const names = new Set(kept.map(({ name }) => name));
    for (const [name, process] of this.#known) {
      if (before.has(name) && !names.has(name) && !process.hasEnded && !process.isOpen) this.#known.delete(name);
    }
    await Promise.all(kept.filter(({ name }) => !this.#known.has(name)).map(({ name }) => this.#adopt(name, signal)));
    const ended = kept.filter(({ pid }) => pid === undefined).flatMap(({ name }) => this.#known.get(name) ?? []);
    const ends = ended.filter(({ isOpen, hasEnded }) => !isOpen && !hasEnded).map((process) => this.#takeEnd(process));
    await settleWithin(Promise.all(ends), { timeoutMs: ENDS_MS, signal });
    return new Set(kept.filter(({ pid }) => pid !== undefined).map(({ name }) => name));
  }

  #takeEnd(process: EnvdProcess): Promise<void> {
    const taking = this.#ending.get(process) ?? process.takeEnd().finally(() => this.#ending.delete(process));
    this.#ending.set(process, taking);
    return taking;
  }

  /** One that another server has started, or this one before it was started again. */
  async #adopt(name: string, signal: AbortSignal): Promise<void> {
    try {
      const { pid, note } = await this.#guest.describeKept(name, signal);
      if (!this.#known.has(name)) this.#add(name, pid, readNote(note));
    } catch (error) {
      // It has ended meanwhile.
      if (!(error instanceof BelljarError) || error.code !== "PROCESS_NOT_FOUND") throw error;
    }
  }
}

function toOptions({ argv, env, cwd, user, stdin, terminal, timeoutMs }: Omit<Launch, "note">) {
  return {
    argv,
    env,
    stdin,
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(terminal && { terminal }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}
