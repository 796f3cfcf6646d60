import { mkdirSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { isUnflushed } from "../../files/parse-json.ts";
import { parseReason } from "../guest/keeper-client.ts";
import type { Run, SandboxEnd } from "../contract/run.ts";

/** The folder of one run: its lock, and at last its end. */
export function runFolder({ folder, generation }: Run): string {
  return join(folder, "runs", String(generation));
}

/** Names a run on the whole machine. */
export function runName({ id, generation }: Pick<Run, "id" | "generation">): string {
  return `${id}-${generation}`;
}

/** True when it was not there before. Throws `DISK_FULL`, and `RUNTIME_FAILED` when there is no sandbox folder. */
export function makeRunFolder(run: Run): boolean {
  const [, isNew] = [join(run.folder, "runs"), runFolder(run)].map((path) => makeIfAbsent(path, () => mkdirSync(path, { mode: 0o700 })));
  return isNew === true;
}

/** A first run that fails removes its layers, so it is started only once. Throws as `makeRunFolder`. */
export function claimRunFolder(run: Run): void {
  if (makeRunFolder(run) || run.generation > 1) return;
  throw new BelljarError("RUNTIME_FAILED", `The first run of sandbox ${run.id} was started or cleared before, so it cannot be started`);
}

/** Where a sandbox's layers lie. */
export interface StorageNote {
  readonly kind: string;
  /** Of layers in memory: the socket of the process that holds them. */
  readonly holder?: string;
}

/**
 * A later run and the removal look there, whatever the configuration says by then. The text of a link, so it is written whole. What was
 * noted first stands. Rejects as `makeRunFolder`.
 */
export function noteStorage({ folder }: Run, { kind, holder }: StorageNote): void {
  const path = storageNote(folder);
  makeIfAbsent(path, () => symlinkSync(holder === undefined ? kind : `${kind}:${holder}`, path));
}

/** Undefined when nothing was noted, and so no run was started. */
export function notedStorage({ folder }: Run): StorageNote | undefined {
  try {
    const [, kind = "", holder] = /^([^:]*)(?::([^]*))?$/.exec(readlinkSync(storageNote(folder))) ?? [];
    return { kind, ...(holder !== undefined && { holder }) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new BelljarError("RUNTIME_FAILED", `The link ${storageNote(folder)} cannot be read: check that this user may`, { cause });
  }
}

function storageNote(folder: string): string {
  return join(folder, "runs", "storage");
}

function makeIfAbsent(path: string, make: () => void): boolean {
  try {
    make();
    return true;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "EEXIST") return false;
    const isFull = code === "ENOSPC" || code === "EDQUOT";
    throw isFull
      ? new BelljarError("DISK_FULL", `No space is left for ${path}: free some on that file system`, { cause })
      : new BelljarError("RUNTIME_FAILED", `The folder ${path} cannot be made (${code}): check that this user may write there`, { cause });
  }
}

/**
 * Why a run ended, as its keeper or `clear` wrote it; undefined when nothing is written, or a power cut has taken it. Rejects with `RUNTIME_FAILED` when the end is
 * there and cannot be read: it may say that the files are kept.
 */
export async function readEnd(run: Run): Promise<SandboxEnd | undefined> {
  const path = join(runFolder(run), "end.json");
  try {
    const text = readFileSync(path, "utf8");
    if (isUnflushed(text)) return undefined;
    const { reason, at, kept } = JSON.parse(text) as { reason: string; at: number; kept?: boolean };
    return { reason: parseReason(reason), at: new Date(at), ...(kept === true && { kept }) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new BelljarError(
      "RUNTIME_FAILED",
      `The end of a run cannot be read, so nothing of the sandbox is removed: save its files, then remove ${path}`,
      { cause },
    );
  }
}

/** An end that nobody could write down. Files that a stop kept before this run stay kept. */
export function unwrittenEnd({ generation }: Run, end: SandboxEnd): SandboxEnd {
  return generation > 1 ? { ...end, kept: true } : end;
}
