import { constants } from "node:fs";
import { chmod, cp, lstat, mkdir, open, opendir, readdir, rename, rmdir, stat, symlink, unlink, utimes, copyFile } from "node:fs/promises";
import { BelljarError } from "../../errors.ts";
import type { Field, Fields } from "../../protocol/fields.ts";
import { FLAG, FRAME, LIST_LEVELS_MAX, LIST_PATH_MAX, OPERATION, PAYLOAD_MAX_BYTES } from "../../protocol/wire.ts";
import { entryFields } from "./entry.ts";
import type { FakeSandbox } from "./fake-sandbox.ts";
import type { Peer } from "./peer.ts";

/** One request on one path. */
export interface FileRequest {
  readonly sandbox: FakeSandbox;
  readonly peer: Peer;
  readonly fields: Fields;
  /** Where the path lies on the host. */
  readonly host: Buffer;
  readonly flags: number;
}

export const FILE_OPERATIONS = new Map<number, (request: FileRequest) => Promise<void>>([
  [OPERATION.STAT, serveStat],
  [OPERATION.LIST, serveList],
  [OPERATION.READ, serveRead],
  [OPERATION.MAKE_DIRECTORY, serveMakeDirectory],
  [OPERATION.RENAME, serveRename],
  [OPERATION.REMOVE, serveRemove],
  [OPERATION.COPY, serveCopy],
  [OPERATION.SYMLINK, serveSymlink],
  [OPERATION.SET_ATTRIBUTES, serveSetAttributes],
]);

async function serveStat({ sandbox, peer, fields, host, flags }: FileRequest): Promise<void> {
  peer.reply(entryFields(sandbox.paths, host, fields.needBytes("PATH"), (flags & FLAG.FOLLOW) !== 0));
}

async function serveList({ sandbox, peer, fields, host }: FileRequest): Promise<void> {
  if (!(await stat(host)).isDirectory()) throw new BelljarError("FILE_NOT_DIRECTORY", "Not a directory");
  const closed = new Set(fields.all("ARG").map((name) => name.toString("latin1")));
  const list = async (folder: Buffer, prefix: Buffer, depth: number): Promise<void> => {
    for (const entry of await readdir(folder, { encoding: "buffer", withFileTypes: true })) {
      const name = entry.name;
      const path = prefix.length === 0 ? name : join(prefix, name);
      const row = entryFieldsIfPresent(sandbox, join(folder, name), path);
      if (!row) continue;
      await peer.row(FRAME.ENTRY, row);
      const isEntered = depth > 1 && path.length <= LIST_PATH_MAX && !closed.has(name.toString("latin1"));
      if (isEntered && entry.isDirectory()) await list(join(folder, name), path, depth - 1);
      if (peer.isGone) return;
    }
  };
  await list(host, Buffer.alloc(0), Math.min(fields.number("DEPTH") ?? 1, LIST_LEVELS_MAX));
  peer.reply();
}

/** What went away while its folder was read is no row. */
function entryFieldsIfPresent({ paths }: FakeSandbox, host: Buffer, path: Buffer): readonly Field[] | undefined {
  try {
    return entryFields(paths, host, path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

export function join(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}

async function serveRead({ sandbox, peer, fields, host }: FileRequest): Promise<void> {
  await using file = await open(host, "r");
  if ((await file.stat()).isDirectory()) throw new BelljarError("FILE_IS_DIRECTORY", "A directory cannot be read as a file");
  await peer.row(FRAME.ENTRY, entryFields(sandbox.paths, host, fields.needBytes("PATH"), true));
  let at = fields.number("OFFSET") ?? 0;
  let left = fields.number("LIMIT") ?? Number.MAX_SAFE_INTEGER;
  const buffer = Buffer.alloc(PAYLOAD_MAX_BYTES);
  while (left > 0 && !peer.isGone) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(left, buffer.length), at);
    if (bytesRead === 0) break;
    await peer.sendSlowly(FRAME.DATA, 0, buffer.subarray(0, bytesRead));
    at += bytesRead;
    left -= bytesRead;
  }
  peer.send(FRAME.END, 0);
  peer.reply();
}

async function serveMakeDirectory({ peer, fields, host, flags }: FileRequest): Promise<void> {
  const mode = fields.number("MODE") ?? 0o755;
  await mkdir(host, { recursive: (flags & FLAG.PARENTS) !== 0, mode });
  peer.reply();
}

function target({ sandbox, fields }: FileRequest): Buffer {
  return sandbox.paths.toHost(fields.needBytes("TARGET"), fields.text("USER"));
}

async function serveRename(request: FileRequest): Promise<void> {
  const to = target(request);
  if (request.flags & FLAG.EXCLUSIVE && (await exists(to))) throw new BelljarError("FILE_EXISTS", "The target exists");
  await rename(request.host, to);
  request.peer.reply();
}

async function exists(host: Buffer): Promise<boolean> {
  try {
    await lstat(host);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

async function serveRemove({ peer, host, flags }: FileRequest): Promise<void> {
  const isDirectory = (await lstat(host)).isDirectory();
  if (flags & FLAG.RECURSIVE) await removeTree(host);
  else await (isDirectory ? rmdir(host) : unlink(host));
  peer.reply();
}

/** `rm` of Node takes names that are not UTF-8 apart; this does not. */
async function removeTree(host: Buffer): Promise<void> {
  if (!(await lstat(host)).isDirectory()) return unlink(host);
  for await (const entry of await opendir(host, { encoding: "buffer" as BufferEncoding })) {
    // The types of Node 20 know opendir's names as strings alone.
    await removeTree(join(host, entry.name as unknown as Buffer));
  }
  return rmdir(host);
}

async function serveCopy(request: FileRequest): Promise<void> {
  const { host, flags, peer } = request;
  const to = target(request);
  if (!(await lstat(host)).isDirectory()) await copyFile(host, to, constants.COPYFILE_FICLONE);
  else if (flags & FLAG.RECURSIVE) await cp(host.toString(), to.toString(), { recursive: true, verbatimSymlinks: true });
  else throw new BelljarError("FILE_IS_DIRECTORY", "A directory is copied with all in it, or not at all");
  peer.reply();
}

async function serveSymlink({ peer, fields, host }: FileRequest): Promise<void> {
  await symlink(fields.needBytes("TARGET"), host);
  peer.reply();
}

async function serveSetAttributes({ peer, fields, host }: FileRequest): Promise<void> {
  const mode = fields.number("MODE");
  const mtimeNs = fields.bigint("MTIME_NS");
  if (mode !== undefined) await chmod(host, mode);
  if (mtimeNs !== undefined) await utimes(host, new Date(), Number(mtimeNs) / 1e9);
  peer.reply();
}
