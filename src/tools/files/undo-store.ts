import { createHash } from "node:crypto";
import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import type { FileState } from "./file-state.ts";
import { EDIT_MAX_BYTES } from "../../text/text-limits.ts";
import type { UndoEntry, UndoName } from "./undo-entry.ts";
import { digestOf, formatUndoName, parseUndoName } from "./undo-entry.ts";

/**
 * The undo levels lie inside the sandbox, under a folder of its root: they outlive every server, go with a snapshot, end with the
 * sandbox and count as its disk. Its programs that run as `user` cannot reach them; what its root does to them harms itself alone.
 */
export const UNDO_FOLDER = "/var/lib/belljar/undo";
export const LEVELS_MAX = 10;
const TOTAL_MAX_BYTES = 64 * 1_048_576;
const ENTRIES_MAX = 500;
/** More than this is none of our doing. */
const ROWS_MAX = 4 * ENTRIES_MAX;
const OWNER = "root";

interface StoredEntry extends UndoName {
  readonly name: string;
  readonly size: number;
  readonly mtimeNs: bigint;
}

/**
 * Keeps the file at `path`, which must still be as `before` says, as its newest level, and drops what is beyond the bounds. Resolves with
 * the level's name in the store. The guest copies the content inside the sandbox, with root's rights: the digest in the name tells a
 * copy of anything else than what the sandbox's user could read.
 */
export async function saveUndoEntry(
  files: GuestFiles,
  { path, before, after }: UndoEntry & { readonly path: string },
  signal: AbortSignal,
): Promise<string> {
  const stored = await listStore(files, signal);
  if (!stored) await files.makeDirectory(UNDO_FOLDER, { user: OWNER, mode: 0o700, parents: true, signal });
  const file = digestOfPath(path);
  const own = (stored ?? []).filter((other) => other.file === file);
  const digest = digestOf(before.content);
  const old = digest === null ? null : { mode: before.mode ?? 0o644, digest };
  const name = formatUndoName({ file, level: (own.at(-1)?.level ?? 0) + 1, before: old, after });
  await Promise.all([
    removeAll(files, findExcess(stored ?? [], own, before.content?.length ?? 0), signal),
    keepContent(files, { path: old ? path : undefined, target: posix.join(UNDO_FOLDER, name) }, signal),
  ]);
  return name;
}

async function keepContent(
  files: GuestFiles,
  { path, target }: { readonly path: string | undefined; readonly target: string },
  signal: AbortSignal,
): Promise<void> {
  if (path === undefined) return void (await files.write(target, "", { user: OWNER, mode: 0o600, signal }));
  try {
    await files.copy(path, target, { user: OWNER, signal });
  } catch (error) {
    // A disk that is full with half of a level would have no room for the change itself.
    if (!signal.aborted) await removeIfPresent(files, target, signal);
    throw error;
  }
}

async function removeIfPresent(files: GuestFiles, path: string, signal: AbortSignal): Promise<void> {
  try {
    await files.remove(path, { user: OWNER, signal });
  } catch (error) {
    if (!(error instanceof BelljarError)) throw error;
  }
}

/** The newest entry of a file, with how many there are; undefined when there is none. What is not what its name says is dropped. */
export async function findUndoEntry(
  files: GuestFiles,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly entry: UndoEntry; readonly levels: number } | undefined> {
  const own = ((await listStore(files, signal)) ?? []).filter(({ file }) => file === digestOfPath(path));
  for (const [index, stored] of own.toReversed().entries()) {
    const before = await readBefore(files, stored, signal);
    if (before) return { name: stored.name, entry: { before, after: stored.after }, levels: own.length - index };
    await removeUndoEntry(files, stored.name, signal);
  }
  return undefined;
}

/** Undefined when the level does not hold the content that its name says. */
async function readBefore(files: GuestFiles, { name, size, before }: StoredEntry, signal: AbortSignal): Promise<FileState | undefined> {
  if (!before) return { content: undefined };
  if (size > EDIT_MAX_BYTES) return undefined;
  const content = await files.read(posix.join(UNDO_FOLDER, name), { user: OWNER, signal, maxBytes: EDIT_MAX_BYTES });
  return digestOf(content) === before.digest ? { content, mode: before.mode } : undefined;
}

export async function removeUndoEntry(files: GuestFiles, name: string, signal: AbortSignal): Promise<void> {
  await files.remove(posix.join(UNDO_FOLDER, name), { user: OWNER, signal });
}

async function removeAll(files: GuestFiles, entries: readonly StoredEntry[], signal: AbortSignal): Promise<void> {
  for (const { name } of entries) await removeUndoEntry(files, name, signal);
}

function digestOfPath(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 32);
}

/** Oldest level first within a file; undefined when there is no folder yet. */
async function listStore(files: GuestFiles, signal: AbortSignal): Promise<readonly StoredEntry[] | undefined> {
  const stored: StoredEntry[] = [];
  let rows = 0;
  try {
    for await (const { path, type, size, mtimeNs } of files.list(UNDO_FOLDER, { user: OWNER, depth: 1, signal })) {
      if ((rows += 1) > ROWS_MAX) return await startAnew(files, signal);
      const known = type === "file" ? parseUndoName(path) : undefined;
      if (known) stored.push({ ...known, name: path, size, mtimeNs });
    }
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return undefined;
    throw error;
  }
  return stored.toSorted((a, b) => a.level - b.level);
}

async function startAnew(files: GuestFiles, signal: AbortSignal): Promise<undefined> {
  await files.remove(UNDO_FOLDER, { user: OWNER, recursive: true, signal });
  return undefined;
}

/** The file's own levels beyond ten, then the oldest of all until the new entry fits. */
function findExcess(stored: readonly StoredEntry[], own: readonly StoredEntry[], size: number): readonly StoredEntry[] {
  const excess = new Set(own.slice(0, Math.max(0, own.length + 1 - LEVELS_MAX)));
  const rest = stored.filter((entry) => !excess.has(entry)).toSorted((a, b) => Number(a.mtimeNs - b.mtimeNs));
  let total = size + rest.reduce((sum, entry) => sum + entry.size, 0);
  for (const [index, entry] of rest.entries()) {
    if (total <= TOTAL_MAX_BYTES && rest.length - index < ENTRIES_MAX) break;
    excess.add(entry);
    total -= entry.size;
  }
  return [...excess];
}
