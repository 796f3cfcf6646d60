import { posix } from "node:path";
import { mapLimit } from "../../async/map-limit.ts";
import { Slices } from "../../async/slices.ts";
import type { FileInfo, GuestFiles } from "../../sandbox/sandbox.ts";
import { fromKey, parentKey, showPath, toKey } from "../../sandbox/workspace/entry.ts";
import type { ChosenSource } from "./choose-sources.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import type { Owner } from "./find-owner.ts";
import { ROOT } from "./root-user.ts";
import { orAbsent, type SourceEntry } from "./source-tree.ts";

const PARALLEL = 8;
const FOLDER_MODE = 0o755;

/** An entry of the layer that a COPY makes. */
export interface PlacedEntry {
  /** Of the root, without its slash. */
  readonly key: string;
  readonly type: "file" | "directory" | "link";
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeNs: bigint;
  readonly size: number;
  readonly target?: Buffer | undefined;
  /** Of a file, in the tree that it comes from. */
  readonly source?: string;
}

export interface Placing {
  readonly files: GuestFiles;
  readonly line: number;
  readonly signal: AbortSignal;
  /** Absolute. A slash at its end says that it is a folder. */
  readonly destination: string;
  /** Default: as of the source. */
  readonly owner?: Owner | undefined;
  readonly mode?: number | undefined;
  /** The stage has no files of its own yet: the folders that are there are the runtime's, and what is copied has its own attributes. */
  readonly isFirst: boolean;
}

/**
 * Where copies go, as the sandbox sees it: links above the destination are followed inside, folders of the stage keep their attributes, and
 * each folder above an entry stands before it. Throws `DOCKERFILE_INVALID` for a file in a folder's place and the other way round.
 */
export async function placeCopies(chosen: readonly ChosenSource[], placing: Placing): Promise<readonly PlacedEntry[]> {
  const { destination } = placing;
  const { path, isFolder } = await follow(placing, destination);
  const intoFolder = isFolder || destination.endsWith("/");
  if (chosen.length > 1 && !destination.endsWith("/"))
    throw invalidLine(placing.line, `several files go to a folder: end ${quoted(destination)} with a slash`);
  return settle(await gather(chosen, { path, intoFolder }, placing), placing);
}

interface Gathered {
  /** In the order of the archive. */
  readonly all: ReadonlyMap<string, PlacedEntry>;
  /** The keys of what is copied. The others are folders above. */
  readonly wanted: ReadonlySet<string>;
}

/** Of two entries in one place the last one holds. */
async function gather(chosen: readonly ChosenSource[], place: Place, placing: Placing): Promise<Gathered> {
  const [all, wanted, slices] = [new Map<string, PlacedEntry>(), new Set<string>(), new Slices(placing.signal)];
  for (const source of chosen)
    for (const entry of placeSource(source, place, placing)) {
      for (const above of missingAbove(entry.key, all)) all.set(above, newFolder(above, placing));
      all.set(entry.key, entry);
      wanted.add(entry.key);
      await slices.next();
    }
  return { all, wanted };
}

/** The topmost first. */
function missingAbove(key: string, all: ReadonlyMap<string, PlacedEntry>): readonly string[] {
  const missing: string[] = [];
  for (let above = parentKey(key); above !== "" && !all.has(above); above = parentKey(above)) missing.push(above);
  return missing.toReversed();
}

interface Place {
  readonly path: string;
  /** A file keeps its name. */
  readonly intoFolder: boolean;
}

function* placeSource({ root, entries }: ChosenSource, { path, intoFolder }: Place, placing: Placing): Generator<PlacedEntry> {
  const isTree = entries.get(root)?.type === "directory";
  for (const [key, entry] of entries) {
    const below = isTree ? key.slice(root === "" ? 0 : root.length + 1) : intoFolder ? posix.basename(key) : "";
    const at = joinKeys(path, below);
    if (at !== "" && entry.type !== "other") yield toPlaced(at, key, entry, placing);
  }
}

function toPlaced(at: string, source: string, entry: SourceEntry, { owner, mode }: Placing): PlacedEntry {
  const { type, size, mtimeNs, target } = entry;
  const { uid, gid } = owner ?? entry;
  if (type === "other") throw new TypeError("only what is copied has a place");
  const common = { key: at, uid, gid, mtimeNs, mode: type === "link" ? 0o777 : (mode ?? entry.mode) };
  return type === "file" ? { ...common, type, size, source } : { ...common, type, size: 0, ...(target && { target }) };
}

/** Looks what is there already. */
async function settle({ all, wanted }: Gathered, placing: Placing): Promise<readonly PlacedEntry[]> {
  return mapLimit([...all.values()], PARALLEL, async (entry) => {
    const merged = merge(entry, await statAt(placing, entry.key), placing);
    return placing.isFirst && wanted.has(entry.key) ? entry : merged;
  });
}

function newFolder(key: string, { owner }: Placing): PlacedEntry {
  return { key, type: "directory", mode: FOLDER_MODE, ...(owner ?? { uid: 0, gid: 0 }), mtimeNs: 0n, size: 0 };
}

function merge(entry: PlacedEntry, found: FileInfo | undefined, { line }: Placing): PlacedEntry {
  const isFolder = found?.type === "directory";
  if (!found || (!isFolder && entry.type !== "directory")) return entry;
  if (isFolder !== (entry.type === "directory"))
    throw invalidLine(
      line,
      `${quoted(`/${showPath(fromKey(entry.key))}`)} is ${isFolder ? "a folder" : "no folder"} there: choose another place, or remove it by a RUN before`,
    );
  const { mode, uid, gid, mtimeNs } = found;
  return { ...entry, mode, uid, gid, mtimeNs };
}

/** The real path of a destination, whose last parts may be missing. */
async function follow(placing: Placing, destination: string): Promise<{ readonly path: string; readonly isFolder: boolean }> {
  const names = posix.normalize(destination).split("/").filter(Boolean);
  const parts = names.map((name) => toKey(Buffer.from(name)));
  let [path, isFolder] = ["", true];
  for (const [index, part] of parts.entries()) {
    const more = parts.slice(index + 1);
    const next = joinKeys(path, part);
    const found = await statAt(placing, next);
    if (!found) return { path: joinKeys(next, ...more), isFolder: false };
    const isFollowed = found.type === "link" && (more.length > 0 || (await leadsToFolder(placing, next)));
    path = isFollowed ? targetOf(found, next, placing) : next;
    isFolder = isFollowed || found.type === "directory";
  }
  return { path, isFolder };
}

function targetOf({ resolved }: FileInfo, key: string, { line }: Placing): string {
  if (resolved !== undefined) return toKey(Buffer.from(resolved)).replace(/^\//, "");
  throw invalidLine(line, `${quoted(`/${showPath(fromKey(key))}`)} is a link that leads nowhere`);
}

function joinKeys(...keys: readonly string[]): string {
  return keys.filter((key) => key !== "").join("/");
}

async function leadsToFolder(placing: Placing, key: string): Promise<boolean> {
  const { files, signal } = placing;
  const found = await orAbsent(files.stat(fromKey(`/${key}`), { user: ROOT, follow: true, signal }));
  return found?.type === "directory";
}

function statAt({ files, signal }: Placing, key: string): Promise<FileInfo | undefined> {
  return orAbsent(files.stat(fromKey(`/${key}`), { user: ROOT, follow: false, signal }));
}
