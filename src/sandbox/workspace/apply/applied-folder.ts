import { createHash } from "node:crypto";
import { readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { ifPresent } from "../../../files/file-error.ts";
import { createPrivateFile, ensurePrivateFolder, readPrivateFile, replacePrivateFile } from "../../../files/private-files.ts";
import type { AppliedEntry } from "./applied-entries.ts";
import { readApplied, writeApplied } from "./applied-entries.ts";
import type { ApplyJournal } from "./apply-journal.ts";
import { formatJournal, parseJournal } from "./apply-journal.ts";
import { isProcessAlive } from "./process-mark.ts";

/** Marks no process. */
const NOBODY = "";
/** Of so many sandboxes it is known what was applied to a folder. */
const SANDBOXES_MAX = 8;

/**
 * What a home knows of the applies to one folder of the host: the journal of the one that writes now (`writing.json`), that of the last one
 * (`written.json`) with the old files (`old/`), and by sandbox what was applied (`<id>.json`).
 */
export interface AppliedFolder {
  readonly old: string;
  /** Whether there is an apply to be undone. */
  hasApply(): Promise<boolean>;
  applied(sandboxId: string): Promise<ReadonlyMap<string, AppliedEntry>>;
  /** Adds to what was applied of a sandbox, or replaces it. An entry that is only a key is forgotten. */
  note(sandboxId: string, entries: readonly AppliedEntry[], forgotten?: readonly string[]): Promise<void>;
  /** Announces an apply. Rejects with `WORKSPACE_CONFLICT` while another one writes. */
  begin(journal: ApplyJournal): Promise<void>;
  /** The journal of an apply that was cut off. Rejects with `WORKSPACE_CONFLICT` while its process lives. */
  cutOff(): Promise<ApplyJournal | undefined>;
  last(): Promise<ApplyJournal | undefined>;
  /** The apply is complete: it is the last one now. */
  finish(journal: ApplyJournal): Promise<void>;
  /** The last one is to be undone: it writes again. */
  reopen(journal: ApplyJournal): Promise<void>;
  /** This process could not undo it: whoever comes next may, this process too. */
  letGo(journal: ApplyJournal): Promise<void>;
  /** Nothing of it is left. */
  forget(journal: ApplyJournal): Promise<void>;
}

export function openAppliedFolder(home: string, hostPath: string): AppliedFolder {
  const all = join(home, "applied");
  const folder = join(all, createHash("sha256").update(hostPath).digest("hex").slice(0, 32));
  const [writing, written, old] = ["writing.json", "written.json", "old"].map((name) => join(folder, name)) as [string, string, string];
  const entriesOf = (sandboxId: string): string => join(folder, `${sandboxId}.json`);
  const prepare = async (): Promise<void> => {
    for (const path of [all, folder, old]) await ensurePrivateFolder(path);
  };
  return {
    old,
    async hasApply() {
      return ((await readJournal(written)) ?? (await readJournal(writing))) !== undefined;
    },
    applied: (sandboxId) => readApplied(entriesOf(sandboxId)),
    async note(sandboxId, entries, forgotten = []) {
      await prepare();
      const merged = new Map(await readApplied(entriesOf(sandboxId)));
      for (const key of [...forgotten, ...entries.map((entry) => entry.key)]) merged.delete(key);
      for (const entry of entries) merged.set(entry.key, entry);
      await writeApplied(entriesOf(sandboxId), [...merged.values()]);
      await forgetOldest(folder);
    },
    async begin(journal) {
      await prepare();
      if (!(await createPrivateFile(writing, formatJournal(journal)))) throw busy(hostPath);
      await ifPresent(written, unlink(written));
      for (const name of await readdir(old)) await rm(join(old, name), { force: true });
    },
    async cutOff() {
      const journal = await readJournal(writing);
      if (journal && (await isProcessAlive(journal.writer))) throw busy(hostPath);
      return journal;
    },
    last: () => readJournal(written),
    async finish(journal) {
      await replacePrivateFile(writing, formatJournal(journal));
      await rename(writing, written);
    },
    async reopen(journal) {
      if (!(await createPrivateFile(writing, formatJournal(journal)))) throw busy(hostPath);
    },
    async letGo(journal) {
      const now = await readJournal(writing);
      if (now?.id === journal.id && now.writer === journal.writer)
        await replacePrivateFile(writing, formatJournal({ ...journal, writer: NOBODY }));
    },
    async forget(journal) {
      for (const path of [written, writing]) if ((await readJournal(path))?.id === journal.id) await ifPresent(path, unlink(path));
    },
  };
}

async function readJournal(path: string): Promise<ApplyJournal | undefined> {
  const text = await readPrivateFile(path);
  const journal = text === undefined ? undefined : parseJournal(text);
  if (text !== undefined && !journal)
    throw new BelljarError("FILE_IO", `The journal ${path} of an apply is damaged: look at the folder yourself, then remove the journal`);
  return journal;
}

function busy(hostPath: string): BelljarError {
  return new BelljarError("WORKSPACE_CONFLICT", `Another apply writes to ${hostPath} right now: wait until it is done`);
}

async function forgetOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^[a-z0-9]{20}\.json$/.test(name)).map((name) => join(folder, name));
  const aged = await Promise.all(names.map(async (path) => ({ path, mtimeMs: (await ifPresent(path, stat(path)))?.mtimeMs ?? 0 })));
  const oldest = aged.toSorted((one, other) => other.mtimeMs - one.mtimeMs).slice(SANDBOXES_MAX);
  for (const { path } of oldest) await ifPresent(path, unlink(path));
}
