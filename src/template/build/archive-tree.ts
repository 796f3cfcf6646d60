import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fromKey, parentKey, showPath, toKey } from "../../sandbox/workspace/entry.ts";
import { openPlain, type Scratch } from "../oci/open-archive.ts";
import { type Extent, type ImageFile, readExtent } from "../oci/open-image-file.ts";
import { readTarEntries, type TarEntry, toKey as toName } from "../oci/tar-index.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import type { MatchWork } from "./match-work.ts";
import { listBelow, type SourceEntry, type SourceTree } from "./source-tree.ts";

const ENTRIES_MAX = 200_000;
const FOLDER: SourceEntry = { type: "directory", size: 0, mode: 0o755, mtimeNs: 0n, uid: 0, gid: 0 };

export interface ArchiveWish extends Scratch {
  readonly line: number;
  readonly work: MatchWork;
}

interface Archive {
  readonly entries: ReadonlyMap<string, SourceEntry>;
  /** Of files. */
  readonly places: ReadonlyMap<string, Extent>;
}

/**
 * The files of a tar, which may be compressed. Its names are keys alone: none is a path of the host, and none leads out. Nothing lies below a
 * link or a file. All files belong to root inside. Rejects with `DOCKERFILE_INVALID` for one that is damaged, cut or has too much in it.
 */
export async function openArchiveTree(path: string, wish: ArchiveWish): Promise<SourceTree & AsyncDisposable> {
  const { work, line } = wish;
  const file = await openPlain(path, wish, work.signal).catch((cause: unknown) => Promise.reject(asLine(line, cause)));
  try {
    const { entries, places } = await readArchive(file, wish);
    return {
      list: (below) => listBelow(entries, below, work),
      read: (key) => readExtent(file.handle, places.get(key) ?? { offset: 0, size: 0 }, work.signal),
      [Symbol.asyncDispose]: () => file.handle.close(),
    };
  } catch (cause) {
    await file.handle.close();
    throw asLine(line, cause);
  }
}

/** An archive is told of as what a step needs. */
function asLine(line: number, cause: unknown): unknown {
  const isDamaged = cause instanceof BelljarError && ["IMAGE_INVALID", "IMAGE_NOT_FOUND"].includes(cause.code);
  return isDamaged ? invalidLine(line, "the archive of what it copies is damaged, cut or none: upload it again", cause) : cause;
}

async function readArchive(file: ImageFile, { work, maxBytes }: ArchiveWish): Promise<Archive> {
  const entries = new Map<string, SourceEntry>([["", FOLDER]]);
  const places = new Map<string, Extent>();
  let bytes = 0;
  for await (const entry of readTarEntries(file, { max: ENTRIES_MAX, signal: work.signal })) {
    await work.next();
    const key = keyOf(entry.name);
    if (key === "") continue;
    addFolders(entries, key);
    add({ entries, places }, key, entry);
    bytes += places.get(key)?.size ?? 0; // many links may name one file
    if (bytes > maxBytes)
      throw new BelljarError("IMAGE_TOO_LARGE", `The archive of what is copied has more than ${maxBytes} bytes of files`);
  }
  return { entries, places };
}

function keyOf(name: string): string {
  return toKey(Buffer.from(toName(name)));
}

/** Throws if something else is in the place of a folder. */
function addFolders(entries: Map<string, SourceEntry>, key: string): void {
  for (let above = parentKey(key); above !== ""; above = parentKey(above)) {
    const found = entries.get(above);
    if (found && found.type !== "directory")
      throw new BelljarError("IMAGE_INVALID", `${quoted(showPath(fromKey(above)))} is a folder and something else`);
    if (found) return;
    entries.set(above, FOLDER);
  }
}

/** Of two entries of one name the last one holds, but a folder stays one. */
function add(
  { entries, places }: { readonly entries: Map<string, SourceEntry>; readonly places: Map<string, Extent> },
  key: string,
  entry: TarEntry,
): void {
  const placed = placeOf(places, entry);
  const isFolder = entries.get(key)?.type === "directory";
  if (isFolder !== (entry.kind === "directory") && entries.has(key))
    throw new BelljarError("IMAGE_INVALID", `${quoted(posix.basename(showPath(fromKey(key))))} is a folder and something else`);
  places.delete(key);
  if (placed) places.set(key, placed);
  entries.set(key, toSourceEntry(entry, placed));
}

/** A hard link has the content of the file that it names, which must stand before it. */
function placeOf(places: ReadonlyMap<string, Extent>, { kind, body, target, link }: TarEntry): Extent | undefined {
  if (kind === "file") return body;
  return kind === "link" && target === undefined ? places.get(keyOf(link)) : undefined;
}

function toSourceEntry({ kind, mode, target }: TarEntry, placed: Extent | undefined): SourceEntry {
  const common = { ...FOLDER, mode };
  if (kind === "directory") return common;
  if (placed) return { ...common, type: "file", size: placed.size };
  return kind === "link" && target !== undefined ? { ...common, type: "link", target: Buffer.from(target) } : { ...common, type: "other" };
}
