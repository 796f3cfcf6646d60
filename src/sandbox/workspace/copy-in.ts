import { open, realpath, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Stats } from "node:fs";
import { Readable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError } from "../../files/file-error.ts";
import { mapLimit } from "../../async/map-limit.ts";
import type { Sandbox } from "../sandbox.ts";
import { copyTarget } from "./copy-target.ts";
import type { CopyOptions, CopyResult } from "./copy-target.ts";
import type { HostEntry } from "./entry.ts";
import { fromKey, showPath } from "./entry.ts";
import { HostFolder } from "./host-folder.ts";

const MAX_ENTRIES = 500_000;
const PARALLEL = 4;

/**
 * Copies a host file or folder into a sandbox, as the sandbox's user may. Into `to` when that is a folder, else under its name.
 * Links below `from` stay links; sockets and devices are left out and named.
 */
export async function copyIn(sandbox: Sandbox, options: CopyOptions): Promise<CopyResult> {
  const from = resolve(options.from);
  const source = await statSource(from);
  const to = await copyTarget(options.to, basename(from), (path) => isGuestFolder(sandbox, path, options));
  if (source.isDirectory()) return copyFolder({ sandbox, options, folder: new HostFolder(await realpath(from)), to: Buffer.from(to) });
  if (!source.isFile()) throw new BelljarError("NOT_SUPPORTED", `${from} is neither a file nor a folder`);
  await copyFile({ sandbox, options, to: Buffer.from(to) }, { from, mode: source.mode & 0o777 });
  return { to, files: 1, skipped: [] };
}

interface FolderCopy extends FileCopy {
  readonly folder: HostFolder;
}

interface FileCopy {
  readonly sandbox: Sandbox;
  readonly options: CopyOptions;
  readonly to: Buffer;
}

async function statSource(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") throw new BelljarError("FILE_NOT_FOUND", `${path} is not there`, { cause });
    throw fileError(path, cause);
  }
}

async function isGuestFolder(sandbox: Sandbox, path: string, options: CopyOptions): Promise<boolean> {
  try {
    return (await sandbox.guest.files.stat(path, { ...call(options), follow: true })).type === "directory";
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FILE_NOT_FOUND") return false;
    throw cause;
  }
}

async function copyFolder(copy: FolderCopy): Promise<CopyResult> {
  const { sandbox, options, folder, to } = copy;
  const entries = [...(await folder.walk({ maxEntries: MAX_ENTRIES }))].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const of = (type: HostEntry["type"]) => entries.filter(([, entry]) => entry.type === type);
  await sandbox.guest.files.makeDirectory(to, { ...call(options), parents: true });
  for (const [key] of of("directory")) await sandbox.guest.files.makeDirectory(inside(to, key), { ...call(options), parents: true });
  await mapLimit(of("file"), PARALLEL, ([key, { mode }]) => copyFile({ ...copy, to: inside(to, key) }, { from: folder, key, mode }));
  for (const [key, { target }] of of("link")) await copyLink(copy, inside(to, key), target ?? Buffer.alloc(0));
  for (const [key, { mode }] of of("directory").toReversed())
    await sandbox.guest.files.setAttributes(inside(to, key), { ...call(options), mode });
  const skipped = of("other").map(([key]) => showPath(fromKey(key)));
  return { to: showPath(to), files: of("file").length, skipped };
}

function inside(to: Buffer, key: string): Buffer {
  return Buffer.concat([to, Buffer.from("/"), fromKey(key)]);
}

type FileSource = { readonly mode: number } & ({ readonly from: string } | { readonly from: HostFolder; readonly key: string });

async function copyFile({ sandbox, options, to }: FileCopy, source: FileSource): Promise<void> {
  const file = await ("key" in source ? source.from.openFile(fromKey(source.key)) : open(source.from, "r"));
  try {
    const content = file.createReadStream({ autoClose: false });
    await sandbox.guest.files.write(to, options.onBytes ? counted(content, options.onBytes) : content, {
      ...call(options),
      mode: source.mode,
      parents: true,
    });
  } finally {
    await file.close();
  }
}

function counted(content: Readable, onBytes: (count: number) => void): Readable {
  const count = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      onBytes(chunk.length);
      yield chunk;
    }
  };
  return Readable.from(count(), { objectMode: false });
}

async function copyLink({ sandbox, options }: FileCopy, to: Buffer, target: Buffer): Promise<void> {
  try {
    await sandbox.guest.files.symlink(to, target, call(options));
  } catch (cause) {
    if (!(cause instanceof BelljarError) || cause.code !== "FILE_EXISTS") throw cause;
    await sandbox.guest.files.remove(to, call(options));
    await sandbox.guest.files.symlink(to, target, call(options));
  }
}

function call({ user, signal }: CopyOptions): { readonly user?: string; readonly signal: AbortSignal } {
  return { signal, ...(user !== undefined && { user }) };
}
