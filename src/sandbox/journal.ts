import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Slices } from "../async/slices.ts";
import { errnoOf, fileError, ifPresent } from "../files/file-error.ts";
import { FolderView } from "../files/folder-view.ts";
import { highest, listNumbers } from "../files/numbered-links.ts";
import { readNow } from "../files/read-now.ts";
import { flushPath, replaceFile, UNFINISHED } from "../files/replace-file.ts";
import { type FolderEars, watchFolder } from "../files/watch-folder.ts";
import { comparePositions } from "./list-cursor.ts";
import { isSandboxId } from "./sandbox-id.ts";
import type { SandboxRecord, Tombstone } from "./sandbox-record.ts";
import { parseRecord, parseTombstone } from "./sandbox-record.ts";

const RECORD = "sandbox.json";
export const TOMBSTONE = "tombstone.json";
/** More than a home has at once: with fewer, each list of a larger home would read all records again. A long-lived server makes still more. */
const REMEMBERED_MAX = 50_000;
/** Far more than the few system calls between the two steps of `write` take. */
const UNFINISHED_KEPT_MS = 60_000;

/** A sandbox as the disk has it; `end` is there once it has ended. */
export interface JournalEntry {
  readonly record: SandboxRecord;
  readonly end?: Tombstone;
}

/**
 * The sandboxes of a home on disk: one folder each, which any number of processes read at once.
 * A folder appears together with its record, by one rename. Records never change, nor do tombstones once all is cleared:
 * what was read of them stays true.
 */
export class Journal {
  readonly #directory: string;
  readonly #report: (problem: string) => void;
  readonly #entries = new Map<string, JournalEntry>();
  readonly #reported = new Set<string>();
  readonly #flushed = new Set<string>();
  readonly #ids: FolderView<readonly string[]>;
  #ordered: { readonly ids: readonly string[]; readonly records: readonly SandboxRecord[] } | undefined;

  constructor(home: string, report: (problem: string) => void) {
    this.#directory = join(home, "sandboxes");
    this.#report = report;
    this.#ids = new FolderView(this.#directory, (names) => this.#toIds(names));
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw fileError(this.#directory, cause);
    }
  }

  folder(id: string): string {
    return `${this.#directory}/${id}`;
  }

  /**
   * Synchronous: five small system calls on the path of every create cost less than one turn of the event loop each.
   * Nothing is flushed: a host that loses power has lost the live sandbox too.
   */
  write(record: SandboxRecord): void {
    const fresh = join(this.#directory, UNFINISHED + record.id);
    try {
      mkdirSync(fresh, { mode: 0o700 });
      writeFileSync(join(fresh, RECORD), JSON.stringify(record), { mode: 0o600, flag: "wx" });
      renameSync(fresh, this.folder(record.id));
    } catch (cause) {
      rmSync(fresh, { recursive: true, force: true });
      throw fileError(fresh, cause);
    }
    this.#remember(record.id, { record });
  }

  /** The record outlives a power cut. It never changes, so each process waits for the disk once. */
  async flushRecord(id: string): Promise<void> {
    if (this.#flushed.has(id)) return;
    for (const path of [join(this.folder(id), RECORD), this.folder(id), this.#directory]) await flush(path);
    this.#flushed.add(id);
  }

  /** So do all names in its folder, and the record. */
  async flush(id: string): Promise<void> {
    await this.flushRecord(id);
    await flush(this.folder(id));
  }

  /** Writes the record of a sandbox whose folder is there already, whole or not at all. Synchronous, as `write` is. */
  adopt(record: SandboxRecord): void {
    const path = join(this.folder(record.id), RECORD);
    this.#flushed.delete(record.id);
    try {
      writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (cause) {
      throw fileError(path, cause);
    }
    this.#remember(record.id, { record });
  }

  /** Undefined when there is no such sandbox, and for a corrupt record, which is reported by name. */
  async read(id: string): Promise<JournalEntry | undefined> {
    const known = this.#entries.get(id);
    if (known?.end?.isCleared) return known;
    const record = known?.record ?? this.#loadRecord(id);
    if (!record) return undefined;
    const end = this.endNow(id);
    const entry = { record, ...(end && { end }) };
    this.#remember(id, entry);
    return entry;
  }

  /** The same without the end, which may have come. Records never change: each is read once. */
  async readRecord(id: string): Promise<SandboxRecord | undefined> {
    return this.recordNow(id);
  }

  /** The same at once: whoever reads very many works in slices. */
  recordNow(id: string): SandboxRecord | undefined {
    const known = this.#entries.get(id);
    if (known) return known.record;
    const record = this.#loadRecord(id);
    if (record) this.#remember(id, { record });
    return record;
  }

  /**
   * All that can be read, the newest first: the same object as before if no folder has come or gone. `failed` is called for each that this
   * user may not read.
   */
  async records(failed: (id: string, cause: unknown) => void): Promise<readonly SandboxRecord[]> {
    const ids = this.#ids.read();
    if (this.#ordered?.ids === ids) return this.#ordered.records;
    const slices = new Slices();
    const found: SandboxRecord[] = [];
    for (const id of ids) {
      const record = tried(
        () => this.recordNow(id),
        (cause) => failed(id, cause),
      );
      if (record) found.push(record);
      await slices.next();
    }
    const records = found.toSorted(comparePositions);
    // One that cannot be read may be mended in its place.
    if (records.length === ids.length) this.#ordered = { ids, records };
    return records;
  }

  /** The end that is written down. A corrupt tombstone counts as none: the runtime is asked again and it is written anew. */
  endNow(id: string): Tombstone | undefined {
    const path = join(this.folder(id), TOMBSTONE);
    const text = readNow(path);
    return text === undefined ? undefined : parseTombstone(text);
  }

  /** Synchronous: it is asked before each call on a default sandbox, which another process may have ended a moment ago. */
  isBuried(id: string): boolean {
    return existsSync(join(this.folder(id), TOMBSTONE));
  }

  /** The ids of all folders, whatever is in them. The same object as before if no folder has come or gone. */
  async ids(): Promise<readonly string[]> {
    return this.#ids.read();
  }

  /** Those of them whose end is not known to this process; a process that serves for long has seen every end by a sweep. */
  async unendedIds(): Promise<readonly string[]> {
    return this.#ids.read().filter((id) => this.#entries.get(id)?.end === undefined);
  }

  #toIds(names: readonly string[]): readonly string[] {
    const ids = names.filter(isSandboxId);
    this.#forgetAllBut(new Set(ids));
    return ids;
  }

  async writeEnd(id: string, end: Tombstone): Promise<void> {
    const path = join(this.folder(id), TOMBSTONE);
    const written = await ifPresent(
      path,
      replaceFile(path, JSON.stringify(end)).then(() => true),
    );
    const record = this.#entries.get(id)?.record;
    if (written && record) this.#remember(id, { record, end });
    this.announce(id);
  }

  /**
   * Makes every process that watches the home look at this sandbox: it sets a new time on the folder. Call it after each change of a
   * sandbox that its owner can see. Never throws, since the change is made already. Synchronous: one small system call.
   */
  announce(id: string): void {
    const now = new Date();
    try {
      utimesSync(this.folder(id), now, now);
    } catch (cause) {
      if (errnoOf(cause) !== "ENOENT") this.#report(`Other processes may not hear of a change of sandbox ${id}: ${String(cause)}`);
    }
  }

  /** Calls back for each sandbox that was announced, and for each folder that came or went, until it is closed. */
  watch({ changed, failed }: FolderEars): { close(): void } {
    return watchFolder(this.#directory, { changed: (name) => isSandboxId(name) && changed(name), failed });
  }

  /** Gone at once: a process that is killed in the middle leaves nothing that looks like a sandbox. */
  async remove(id: string): Promise<void> {
    const gone = join(this.#directory, UNFINISHED + id);
    await ifPresent(this.folder(id), rename(this.folder(id), gone));
    await ifPresent(gone, rm(gone, { recursive: true, force: true }));
    this.#entries.delete(id);
    this.#flushed.delete(id);
  }

  /** The last run of a sandbox of which nothing else is known. */
  async lastRun(id: string): Promise<number> {
    return Math.max(1, highest(await listNumbers(join(this.folder(id), "runs"))));
  }

  /** Whether a record lies there, corrupt or not. */
  async hasRecord(id: string): Promise<boolean> {
    const path = join(this.folder(id), RECORD);
    return (await ifPresent(path, stat(path))) !== undefined;
  }

  /** When anything in the folder last came or went; undefined when it is not there. */
  async changedAt(id: string): Promise<Date | undefined> {
    return (await ifPresent(this.folder(id), stat(this.folder(id))))?.mtime;
  }

  /** Removes what a process left that was killed inside `write` or `remove`. */
  async removeUnfinished(now: number): Promise<void> {
    const names = (await ifPresent(this.#directory, readdir(this.#directory))) ?? [];
    for (const name of names.filter((one) => one.startsWith(UNFINISHED))) await this.#removeOld(join(this.#directory, name), now);
  }

  async #removeOld(path: string, now: number): Promise<void> {
    try {
      const found = await ifPresent(path, stat(path));
      if (found && now - found.mtimeMs > UNFINISHED_KEPT_MS) await ifPresent(path, rm(path, { recursive: true, force: true }));
    } catch (cause) {
      this.#reportOnce(path, `What is left of a sandbox cannot be removed: ${String(cause)}`);
    }
  }

  #remember(id: string, entry: JournalEntry): void {
    this.#entries.set(id, entry);
    if (this.#entries.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  #loadRecord(id: string): SandboxRecord | undefined {
    const path = join(this.folder(id), RECORD);
    const text = readNow(path);
    const record = text === undefined ? undefined : parseRecord(id, text);
    if (text !== undefined && !record)
      this.#reportOnce(
        id,
        `Sandbox ${id} is left out: its record ${path} is corrupt. Restore it from a backup, or remove its folder once none of its processes runs`,
      );
    return record;
  }

  #reportOnce(id: string, problem: string): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#report(problem);
  }

  #forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of [...this.#entries.keys(), ...this.#reported, ...this.#flushed]) {
      if (ids.has(id)) continue;
      this.#entries.delete(id);
      this.#reported.delete(id);
      this.#flushed.delete(id);
    }
  }
}

function tried<T>(work: () => T, failed: (cause: unknown) => void): T | undefined {
  try {
    return work();
  } catch (cause) {
    failed(cause);
    return undefined;
  }
}

async function flush(path: string): Promise<void> {
  await flushPath(path).catch((cause: unknown) => Promise.reject(fileError(path, cause)));
}
