import { createHash } from "node:crypto";
import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import { EDIT_MAX_BYTES } from "../../text/text-limits.ts";
import type { UndoEntry } from "./undo-entry.ts";
import { decodeUndoEntry, ENTRY_HEADER_MAX_BYTES, encodeUndoEntry } from "./undo-entry.ts";

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

interface StoredEntry {
  /** `<digest of the file's path>-<level>` */
  readonly name: string;
  readonly file: string;
  readonly level: number;
  readonly size: number;
  readonly mtimeNs: bigint;
}

/** Keeps an entry as the newest of its file, and drops what is beyond the bounds. Resolves with its name in the store. */
export async function saveUndoEntry(files: GuestFiles, entry: UndoEntry, signal: AbortSignal): Promise<string> {
  const stored = await listStore(files, signal);
  const file = digestOfPath(entry.path);
  const own = stored.filter((other) => other.file === file);
  const level = (own.at(-1)?.level ?? 0) + 1;
  const bytes = encodeUndoEntry(entry);
  const name = `${file}-${String(level).padStart(10, "0")}`;
  await Promise.all([
    removeAll(files, findExcess(stored, own, bytes.length), signal),
    files.write(posix.join(UNDO_FOLDER, name), bytes, { user: OWNER, mode: 0o600, exclusive: true, signal }),
  ]);
  return name;
}

/** The newest entry of a file, with how many there are; undefined when there is none. What is not readable as one is dropped. */
export async function findUndoEntry(
  files: GuestFiles,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly entry: UndoEntry; readonly levels: number } | undefined> {
  const own = (await listStore(files, signal)).filter(({ file }) => file === digestOfPath(path));
  for (const [index, stored] of own.toReversed().entries()) {
    const maxBytes = EDIT_MAX_BYTES + ENTRY_HEADER_MAX_BYTES;
    const bytes =
      stored.size > maxBytes ? undefined : await files.read(posix.join(UNDO_FOLDER, stored.name), { user: OWNER, signal, maxBytes });
    const entry = bytes && decodeUndoEntry(bytes);
    if (entry?.path === path) return { name: stored.name, entry, levels: own.length - index };
    await removeUndoEntry(files, stored.name, signal);
  }
  return undefined;
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

/** Oldest level first within a file. */
async function listStore(files: GuestFiles, signal: AbortSignal): Promise<readonly StoredEntry[]> {
  const stored: StoredEntry[] = [];
  let rows = 0;
  try {
    for await (const { path, type, size, mtimeNs } of files.list(UNDO_FOLDER, { user: OWNER, depth: 1, signal })) {
      if ((rows += 1) > ROWS_MAX) return await startAnew(files, signal);
      const [, file, level] = /^([0-9a-f]{32})-([0-9]{10})$/.exec(path) ?? [];
      if (file !== undefined && type === "file") stored.push({ name: path, file, level: Number(level), size, mtimeNs });
    }
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return [];
    throw error;
  }
  return stored.toSorted((a, b) => a.level - b.level);
}

async function startAnew(files: GuestFiles, signal: AbortSignal): Promise<readonly StoredEntry[]> {
  await files.remove(UNDO_FOLDER, { user: OWNER, recursive: true, signal });
  return [];
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
