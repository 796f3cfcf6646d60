import { limitTime } from "../async/limit-time.ts";
import { BelljarError } from "../errors.ts";
import type { GuestFiles } from "../sandbox/sandbox.ts";
import { isCompilerOutput } from "./language.ts";
import type { LeftFile, LeftFiles } from "./program.ts";

/** Where a program's files lie: `files` of its sandbox, and a folder, absolute or relative to the user's home. */
export interface ProgramFolder {
  readonly files: GuestFiles;
  readonly path: string;
  readonly signal: AbortSignal;
}

/** What a file was, by its name. */
type Stamps = ReadonlyMap<string, string>;

interface FoundFile {
  readonly name: string;
  readonly rawName: Buffer;
  readonly size: number;
  readonly stamp: string;
}

export const NO_LEFT_FILES: LeftFiles = { files: [], more: 0 };

const DEPTH = 4;
/** A program may make any number of files: past this many entries nobody looks. */
const ENTRIES_MAX = 4_096;
const FILES_MAX = 32;
/** As base64 it stays below the 5 MiB that models take of one picture. */
const FILE_MAX_BYTES = 3_900_000;
const TOTAL_MAX_BYTES = 2 * FILE_MAX_BYTES;
const LOOK_MS = 5_000;
/** Caches of tools, which no program was asked for. */
const SKIPPED = new Set(["node_modules", "__pycache__"]);

/** To be compared with what is there after the program. */
export async function stampFiles(folder: ProgramFolder): Promise<Stamps> {
  using time = limitTime(folder.signal, LOOK_MS);
  const found = await findFiles(folder, time.signal);
  return new Map(found.map(({ name, stamp }) => [name, stamp]));
}

/**
 * The files that are new or changed since `before`, without hidden ones, those of compilers and the caches of tools. At most 32 files and
 * 7.8 MB come with their content. Nothing, if the sandbox has ended or does not answer in time: the program's result is worth more.
 */
export async function findLeftFiles(folder: ProgramFolder, before: Stamps): Promise<LeftFiles> {
  using time = limitTime(folder.signal, LOOK_MS);
  try {
    const left = (await findFiles(folder, time.signal)).filter(({ name, stamp }) => before.get(name) !== stamp);
    const shown = left.toSorted((one, other) => (one.name < other.name ? -1 : 1)).slice(0, FILES_MAX);
    return { files: await readFiles(folder, shown, time.signal), more: left.length - shown.length };
  } catch (error) {
    if (!isForeseen(error) || folder.signal.aborted) throw error;
    return NO_LEFT_FILES;
  }
}

async function findFiles({ files, path }: ProgramFolder, signal: AbortSignal): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  let entries = 0;
  for await (const { path: name, rawPath, type, size, mtimeNs, inode } of files.list(path, { depth: DEPTH, signal })) {
    if (++entries > ENTRIES_MAX) break;
    if (type === "file" && !isSkipped(name)) found.push({ name, rawName: rawPath, size, stamp: `${inode} ${size} ${mtimeNs}` });
  }
  return found;
}

function isSkipped(name: string): boolean {
  return isCompilerOutput(name) || name.split("/").some((component) => component.startsWith(".") || SKIPPED.has(component));
}

async function readFiles(folder: ProgramFolder, found: readonly FoundFile[], signal: AbortSignal): Promise<readonly LeftFile[]> {
  const read: LeftFile[] = [];
  let room = TOTAL_MAX_BYTES;
  for (const { name, rawName, size } of found) {
    const most = Math.min(room, FILE_MAX_BYTES);
    const content = size > most ? undefined : await readFile(folder, rawName, { signal, maxBytes: most });
    room -= content?.length ?? 0;
    read.push({ name, size: content?.length ?? size, ...(content && { content }) });
  }
  return read;
}

async function readFile(
  { files, path }: ProgramFolder,
  name: Buffer,
  options: { readonly signal: AbortSignal; readonly maxBytes: number },
): Promise<Buffer | undefined> {
  try {
    return await files.read(Buffer.concat([Buffer.from(`${path}/`), name]), options);
  } catch (error) {
    // A child of the program may still write, or may have removed it.
    if (isForeseen(error) && !options.signal.aborted) return undefined;
    throw error;
  }
}

function isForeseen(error: unknown): boolean {
  return error instanceof BelljarError || (error instanceof DOMException && error.name === "TimeoutError");
}
