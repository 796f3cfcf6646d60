import type { HostEntry } from "../entry.ts";
import { fromKey } from "../entry.ts";
import { BelljarError } from "../../../errors.ts";
import { HostFolder } from "../host-folder.ts";
import { isUntouched } from "../stamp.ts";
import type { BaseEntry } from "./base-entry.ts";
import type { BaseFiles } from "./base-files.ts";
import type { GitFiles } from "./git-files.ts";
import { readGitFiles } from "./git-files.ts";
import { writeManifest } from "./manifest-file.ts";
import type { KeptText } from "./text-pack.ts";
import { writeTexts } from "./text-pack.ts";

const MAX_ENTRIES = 500_000;
const TEXT_MAX_BYTES = 1024 * 1024;
const TEXTS_MAX_BYTES = 64 * 1024 * 1024;
const TEXTS_MAX = 20_000;
const TRIES = 5;
const TEXTS_MS = 1_000;
/** Where no git says what is ignored. */
const DERIVED = /(?:^|\/)(?:\.git|node_modules|\.venv|__pycache__)\//;
/** Most of a repository, and never compared. */
const GIT_STORE = /(?:^|\/)\.git\/(?:objects|refs|logs|lfs|modules|worktrees|annex)$/i;

/** Lists a folder that a sandbox has as a `copy` workspace, and copies the text that git does not keep, in bounds. */
export async function takeBase(root: string, files: BaseFiles, signal: AbortSignal): Promise<void> {
  const folder = new HostFolder(root);
  const [entries, git] = await Promise.all([walk(folder, signal), readGitFiles(root, signal)]);
  const owner = (await folder.stat(Buffer.alloc(0)))?.uid;
  signal.throwIfAborted();
  const list = [...entries].map(([key, entry]) => toBase(key, entry, git));
  await writeManifest(files.manifest, list);
  const candidates = list.filter((entry) => isToBeKept(entry, git) && mayBeShown(entries.get(entry.key), owner));
  await writeTexts(files.texts, readTexts(folder, candidates.slice(0, TEXTS_MAX), signal));
}

/** A folder that goes while it is listed makes the whole list wrong. */
async function walk(folder: HostFolder, signal: AbortSignal): Promise<Map<string, HostEntry>> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await folder.walk({ maxEntries: MAX_ENTRIES, signal, skip: (key) => GIT_STORE.test(key) });
    } catch (cause) {
      if (tries === TRIES || !(cause instanceof BelljarError) || cause.code !== "PATH_INVALID") throw cause;
    }
  }
}

function toBase(key: string, { type, size, mode, mtimeNs, inode, ctimeNs, target }: HostEntry, git: GitFiles | undefined): BaseEntry {
  const blob = type === "file" ? git?.blobOf(key, { type, size, mode, mtimeNs, inode, ctimeNs, uid: 0, gid: 0 }) : undefined;
  return { key, type, size, mode, mtimeNs, inode, ctimeNs, ...(target && { target }), ...(blob !== undefined && { blob }) };
}

function isToBeKept({ key, type, size, blob }: BaseEntry, git: GitFiles | undefined): boolean {
  if (type !== "file" || blob !== undefined || size === 0 || size > TEXT_MAX_BYTES) return false;
  return git ? git.isTracked(key) || git.isUntracked(key) : !DERIVED.test(key);
}

/** A server's process may read more than the sandbox's owner. */
function mayBeShown(entry: HostEntry | undefined, owner: number | undefined): boolean {
  return entry !== undefined && (entry.uid === owner || (entry.mode & 0o004) !== 0);
}

async function* readTexts(folder: HostFolder, entries: readonly BaseEntry[], signal: AbortSignal): AsyncGenerator<KeptText> {
  const endMs = performance.now() + TEXTS_MS;
  let left = TEXTS_MAX_BYTES;
  for (const entry of entries) {
    if (performance.now() > endMs) return;
    signal.throwIfAborted();
    if (entry.size > left) continue;
    const text = await readText(folder, entry);
    if (!text || text.includes(0)) continue;
    left -= text.length;
    yield { key: entry.key, text };
  }
}

/** Undefined for a file that is no longer the one that was listed. */
async function readText(folder: HostFolder, entry: BaseEntry): Promise<Buffer | undefined> {
  const path = fromKey(entry.key);
  try {
    await using file = await folder.openFile(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(entry.size), 0, entry.size, 0);
    const now = await folder.stat(path);
    return now && isUntouched(entry, now) && bytesRead === entry.size ? buffer : undefined;
  } catch (cause) {
    if (cause instanceof BelljarError) return undefined;
    throw cause;
  }
}
