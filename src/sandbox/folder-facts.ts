import { folderTime, isSettled } from "../files/folder-view.ts";
import { namesNow } from "../files/read-now.ts";
import type { SandboxEnd } from "../runtime/contract/run.ts";
import { type Journal, TOMBSTONE } from "./journal.ts";
import { type RunState, type RunStates, stopOf } from "./run-states.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** What the files of a sandbox say of its life. */
export interface FolderFacts {
  readonly state: RunState;
  /** How it ended or was stopped. */
  readonly end?: SandboxEnd;
}

interface Known {
  /** Of the folder, before it was read. */
  readonly timeMs: number;
  readonly facts: FolderFacts;
}

/**
 * The facts of sandboxes, each read again only after something in its folder has changed. All changes of a sandbox make or replace a file in
 * its folder, and so give the folder another time, whichever process makes them. So a look at an unchanged sandbox is one system call, and
 * never tells what was. Synchronous: whoever looks at very many works in slices.
 */
export class FactsOfFolders {
  readonly #journal: Journal;
  readonly #states: RunStates;
  readonly #now: () => number;
  /** By the record, of which the journal has one object as long as it remembers the sandbox. */
  readonly #known = new WeakMap<SandboxRecord, Known>();

  constructor(journal: Journal, states: RunStates, now: () => number = Date.now) {
    this.#journal = journal;
    this.#states = states;
    this.#now = now;
  }

  /** The same object as before if nothing has changed. Throws `FILE_IO` for a damaged state. */
  read(record: SandboxRecord): FolderFacts {
    const nowMs = this.#now();
    const timeMs = folderTime(this.#journal.folder(record.id));
    const known = this.#known.get(record);
    if (known && known.timeMs === timeMs) return known.facts;
    const { facts, isWhole } = this.#read(record);
    if (timeMs !== undefined && isWhole && isSettled(timeMs, nowMs)) this.#known.set(record, { timeMs, facts });
    return facts;
  }

  /** A tombstone that is damaged counts as none, and may be mended in its place. */
  #read(record: SandboxRecord): { readonly facts: FolderFacts; readonly isWhole: boolean } {
    const folder = this.#journal.folder(record.id);
    const names = namesNow(folder);
    const hasTombstone = names.includes(TOMBSTONE);
    const buried = hasTombstone ? this.#journal.endNow(record.id) : undefined;
    const state = this.#states.readNow(record, names);
    const end = buried ?? (state.phase === "stopped" ? stopOf(state) : undefined);
    return { facts: { state, ...(end && { end }) }, isWhole: hasTombstone === (buried !== undefined) };
  }
}
