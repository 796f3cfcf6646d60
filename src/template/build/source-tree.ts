import { createHash } from "node:crypto";
import { posix } from "node:path";
import { eachLimit } from "../../async/map-limit.ts";
import { Slices } from "../../async/slices.ts";
import { BelljarError } from "../../errors.ts";
import { DEFAULT_BASE } from "../../runtime/contract/sandbox-spec.ts";
import type { FileInfo, Sandbox } from "../../sandbox/sandbox.ts";
import { type Entry, fromKey, type HostEntry, toKey } from "../../sandbox/workspace/entry.ts";
import { GuestTree, type GuestTreeOptions } from "../../sandbox/workspace/guest-tree.ts";
import { HostFolder } from "../../sandbox/workspace/host-folder.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { createIgnore, IGNORE_FILE, IGNORE_MAX } from "./ignore-file.ts";
import type { MatchWork } from "./match-work.ts";
import { ROOT } from "./root-user.ts";

const ENTRIES_MAX = 200_000;
const CHUNK_BYTES = 262_144;
const PARALLEL = 8;

export interface SourceEntry extends Entry {
  readonly uid: number;
  readonly gid: number;
}

/** Where COPY takes files from. Paths are keys below its root: `""` is the root itself. */
export interface SourceTree {
  /** A path and all below it, by key. Empty if it is not there. */
  list(path: string): Promise<ReadonlyMap<string, SourceEntry>>;
  read(key: string): AsyncIterable<Uint8Array>;
}

/**
 * The folder of the host that a build has as its context, by its real path, without what its `.dockerignore` names. No link in it is followed: somebody may
 * write it meanwhile.
 */
export async function openContext(path: string, work: MatchWork): Promise<SourceTree> {
  const { signal } = work;
  const folder = new HostFolder(path);
  const isKept = createIgnore(await readIgnore(folder, signal), work);
  const kept = new Map<string, SourceEntry>([["", ROOT_FOLDER]]);
  const entries = await folder.walk({ maxEntries: ENTRIES_MAX, signal, ...(!isKept.hasExceptions && { skip: (key) => !isKept(key) }) });
  for (const [key, entry] of entries) {
    await work.next();
    if (!isKept.hasExceptions || isKept(key)) addWithFolders(kept, entries, key, entry);
  }
  return {
    list: (below) => listBelow(kept, below, work),
    read: (key) => readHostFile(folder, key, signal),
  };
}

export async function listBelow(
  all: ReadonlyMap<string, SourceEntry>,
  path: string,
  work: MatchWork,
): Promise<ReadonlyMap<string, SourceEntry>> {
  const found = new Map<string, SourceEntry>();
  for (const [key, entry] of all) {
    await work.next();
    if (isAtOrBelow(key, path)) found.set(key, entry);
  }
  return found;
}

const ROOT_FOLDER: SourceEntry = { type: "directory", size: 0, mode: 0o755, mtimeNs: 0n, uid: 0, gid: 0 };

/** What is excepted from a pattern that leaves its folder out needs that folder. All files of a context belong to root inside. */
function addWithFolders(kept: Map<string, SourceEntry>, all: ReadonlyMap<string, HostEntry>, key: string, entry: HostEntry): void {
  for (let end = key.indexOf("/"); end >= 0; end = key.indexOf("/", end + 1)) {
    const above = all.get(key.slice(0, end));
    if (above && !kept.has(key.slice(0, end))) kept.set(key.slice(0, end), toRoots(above));
  }
  kept.set(key, toRoots(entry));
}

/** A folder may be sticky or hand on its group, as `/tmp` of a root folder. */
function toRoots({ specialBits = 0, ...entry }: HostEntry): SourceEntry {
  return { ...entry, mode: entry.mode | specialBits, uid: 0, gid: 0 };
}

async function readIgnore(folder: HostFolder, signal: AbortSignal): Promise<string> {
  const name = Buffer.from(IGNORE_FILE);
  const found = await folder.stat(name);
  if (found?.type !== "file") return "";
  return readText(readHostFile(folder, toKey(name), signal));
}

/** Whatever its size was a moment ago, no more of it is read than is allowed. */
export async function readText(content: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of content) {
    bytes += part.length;
    if (bytes > IGNORE_MAX) throw new BelljarError("FILE_TOO_LARGE", `${IGNORE_FILE} has more than ${IGNORE_MAX} bytes: shorten it`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

async function* readHostFile(folder: HostFolder, key: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const file = await folder.openFile(fromKey(key));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new BelljarError("PATH_INVALID", "A file of the context changes while it is read: try again");
    // One byte more than it has: a small one is read by one call that shows its end. A file that grows meanwhile is read on.
    for (let [bytes, most] = [0, Math.min(CHUNK_BYTES, stats.size + 1)]; ; most = CHUNK_BYTES) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(most), 0, most);
      bytes += bytesRead;
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      if (bytesRead === 0 || (bytesRead < most && bytes >= stats.size)) return;
    }
  } finally {
    await file.close();
  }
}

/** What every sandbox has of its own, which is no file of a stage. */
const OWN = ["proc", "sys", "dev", "run/belljar", "opt/belljar"];

interface Stage {
  /** The runtime's own template below. */
  readonly base: string;
  readonly line: number;
  readonly signal: AbortSignal;
}

/** The files of a sandbox, which stands for an earlier stage. On the host's own programs not all of them at once: they would be the host's. */
export function openStageTree(sandbox: Sandbox, { base, line, signal }: Stage): SourceTree {
  const { files } = sandbox.guest;
  const call = { user: ROOT, signal };
  return {
    async list(path) {
      if (path === "" && base === DEFAULT_BASE.template)
        throw invalidLine(line, `${quoted("/")} of what is built on ${quoted(base)} has all programs of this machine: name folders in it`);
      const at = fromKey(`/${path}`);
      const info = await orAbsent(files.stat(at, { ...call, follow: true }));
      if (!info) return new Map();
      const below = info.type === "directory" ? await listStage(sandbox, path, call) : new Map<string, FileInfo>();
      const found = [...below].map(([key, one]) => [path === "" ? key : `${path}/${key}`, toEntry(one)] as const);
      return new Map([[path, toEntry(info)], ...found]);
    },
    async *read(key) {
      const { content } = await files.open(fromKey(`/${key}`), call);
      yield* content as AsyncIterable<Uint8Array>;
    },
  };
}

/** Folders that are called as the sandbox's own are listed by themselves, if they are others. */
async function listStage(sandbox: Sandbox, path: string, call: StageCall): Promise<ReadonlyMap<string, FileInfo>> {
  const own = new Set(
    OWN.flatMap((one) => (one !== path && isAtOrBelow(one, path) ? [path === "" ? one : one.slice(path.length + 1)] : [])),
  );
  const closed = [...own].map((key) => posix.basename(key));
  const tree = new GuestTree(sandbox, { ...call, maxEntries: ENTRIES_MAX });
  for (const [key, { type }] of await tree.add(fromKey(`/${path}`), "", closed))
    if (type === "directory" && closed.includes(posix.basename(key)) && !own.has(key)) await tree.add(fromKey(`/${path}/${key}`), key);
  return new Map([...tree.entries].filter(([key]) => !own.has(key)));
}

type StageCall = Pick<GuestTreeOptions, "signal" | "user">;

function toEntry({ type, size, mode, mtimeNs, uid, gid, target }: FileInfo): SourceEntry {
  return { type, size, mode, mtimeNs, uid, gid, ...(target !== undefined && { target: Buffer.from(target) }) };
}

export function isAtOrBelow(key: string, path: string): boolean {
  return path === "" || key === path || key.startsWith(`${path}/`);
}

/** What the copied files are, without their times: a fresh checkout is no other context. */
export async function digestEntries(
  tree: SourceTree,
  entries: ReadonlyMap<string, SourceEntry>,
  digests: Map<string, string>,
): Promise<void> {
  await eachLimit(entries, PARALLEL, async ([key, { type, mode, target }]) => {
    const content = type === "file" ? await digestFile(tree.read(key)) : (target?.toString("latin1") ?? "");
    digests.set(key, JSON.stringify([type, type === "link" ? 0 : mode, content]));
  });
}

/** One digest of them, in whatever order they come. They are sorted in parts: there may be very many. */
export async function digestAll(digests: ReadonlyMap<string, string>, signal: AbortSignal): Promise<string> {
  const parts = Array.from({ length: 256 }, (): string[] => []);
  const slices = new Slices(signal);
  for (const pair of digests) {
    const digest = createHash("sha256").update(JSON.stringify(pair)).digest();
    parts[digest[0] ?? 0]?.push(digest.toString("hex"));
    await slices.next();
  }
  const all = createHash("sha256");
  for (const part of parts) {
    all.update(part.toSorted().join());
    await slices.next();
  }
  return all.digest("hex");
}

export async function digestFile(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of content) hash.update(chunk);
  return hash.digest("hex");
}

export async function orAbsent<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (cause) {
    if (cause instanceof BelljarError && ["FILE_NOT_FOUND", "FILE_NOT_DIRECTORY"].includes(cause.code)) return undefined;
    throw cause;
  }
}

/** A path of the file as a key. Undefined for one that leads out of the root. */
export function toSourceKey(text: string): string | undefined {
  const path = posix.normalize(text.replace(/^\/+/, "") || ".").replace(/\/$/, "");
  if (path === ".." || path.startsWith("../")) return undefined;
  return path === "." ? "" : toKey(Buffer.from(path));
}
