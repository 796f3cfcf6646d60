import { mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, posix, resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import { mapLimit } from "../../async/map-limit.ts";
import type { Sandbox } from "../sandbox.ts";
import { copyContent } from "./copy-content.ts";
import type { CopyOptions, CopyResult } from "./copy-target.ts";
import { copyTarget } from "./copy-target.ts";
import { fromGuest, fromKey, showPath } from "./entry.ts";
import { readGuestTree } from "./guest-tree.ts";
import { HostFolder } from "./host-folder.ts";
import type { Staging } from "./staging.ts";
import { openStaging } from "./staging.ts";
import { isTooDeep, whyTooDeep } from "./too-deep.ts";

const MAX_ENTRIES = 500_000;
const PARALLEL = 4;
/** Files of `/proc` announce no size. */
const LEAST_LIMIT = 16 * 1024 * 1024;

/**
 * Copies a file or folder of a sandbox to the host. Into `to` when that is a folder, else under its name, whose parent must exist.
 * All names and links are the sandbox's, so nothing is written through a link or outside the target; modes lose setuid.
 */
export async function copyOut(sandbox: Sandbox, options: CopyOptions): Promise<CopyResult> {
  const { from, signal, user } = options;
  const info = await sandbox.guest.files.stat(from, { signal, follow: true, ...(user !== undefined && { user }) });
  const wanted = await copyTarget(options.to, posix.basename(from) || ".", isHostFolder);
  const to = resolve(wanted);
  if (info.type === "directory") return copyFolder({ sandbox, options, to });
  if (info.type === "file") return copyOneFile({ sandbox, options, to }, info);
  throw new BelljarError("NOT_SUPPORTED", `${from} is neither a file nor a folder`);
}

interface Copy {
  readonly sandbox: Sandbox;
  readonly options: CopyOptions;
  readonly to: string;
}

async function isHostFolder(path: string): Promise<boolean> {
  return (await ifPresent(path, stat(path)))?.isDirectory() ?? false;
}

/** The user's own path may lead through links; what the sandbox names below it may not. */
async function openHostFolder(path: string): Promise<HostFolder> {
  try {
    return new HostFolder(await realpath(path));
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") throw new BelljarError("FILE_NOT_FOUND", `The folder ${path} does not exist`, { cause });
    throw fileError(path, cause);
  }
}

async function copyOneFile({ sandbox, options, to }: Copy, info: FileInfo): Promise<CopyResult> {
  const folder = await openHostFolder(dirname(to));
  await using staging = await openStaging(folder);
  await copyFile({ sandbox, options, folder, staging }, { from: options.from, to: Buffer.from(basename(to)), info });
  return { to, files: 1, skipped: [] };
}

interface FolderCopy {
  readonly sandbox: Sandbox;
  readonly options: CopyOptions;
  readonly folder: HostFolder;
  readonly staging: Staging;
}

async function copyFolder({ sandbox, options, to }: Copy): Promise<CopyResult> {
  const { from, signal, user } = options;
  const tree = await readGuestTree(sandbox, from, { signal, maxEntries: MAX_ENTRIES, ...(user !== undefined && { user }) });
  assertWhole(tree);
  await makeTarget(to);
  const folder = await openHostFolder(to);
  await using staging = await openStaging(folder);
  const copy = { sandbox, options, folder, staging };
  const rows = [...tree].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const of = (type: FileInfo["type"]) => rows.filter(([, info]) => info.type === type);
  for (const [key] of of("directory")) await makeFolder(folder, fromKey(key));
  await mapLimit(of("file"), PARALLEL, ([key, info]) =>
    copyFile(copy, { from: Buffer.concat([Buffer.from(`${from}/`), fromKey(key)]), to: fromKey(key), info }),
  );
  for (const [key, info] of of("link")) await copyLink(copy, fromKey(key), info);
  for (const [key, { mode }] of of("directory").toReversed()) await folder.setMode(fromKey(key), mode);
  return { to, files: of("file").length, skipped: of("other").map(([key]) => showPath(fromKey(key))) };
}

/** A copy that lacks something must not look like one that has all. */
function assertWhole(tree: ReadonlyMap<string, FileInfo>): void {
  for (const [key, { type, rawPath }] of tree)
    if (type === "directory" && isTooDeep(key))
      throw new BelljarError(
        "PATH_INVALID",
        `${showPath(rawPath)} is left out ${whyTooDeep(key)}. Nothing was copied: remove that folder, or copy it by itself`,
      );
}

async function makeTarget(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (cause) {
    if (errnoOf(cause) !== "EEXIST") throw fileError(path, cause);
  }
}

/** A real folder that is there already is used. */
async function makeFolder(folder: HostFolder, path: Buffer): Promise<void> {
  if ((await folder.stat(path))?.type !== "directory") await folder.makeDirectory(path);
}

interface OneFile {
  readonly from: string | Buffer;
  readonly to: Buffer;
  readonly info: FileInfo;
}

async function copyFile({ sandbox, options, folder, staging }: FolderCopy, { from, to, info }: OneFile): Promise<void> {
  const { signal, user } = options;
  const staged = staging.next();
  const file = await folder.createFile(staged);
  try {
    const { content } = await sandbox.guest.files.open(from, { signal, ...(user !== undefined && { user }) });
    await copyContent(content, file, Math.max(info.size, LEAST_LIMIT), options.onBytes);
  } finally {
    await file.close();
  }
  await folder.setTime(staged, fromGuest(info));
  await folder.setMode(staged, info.mode);
  await folder.rename(staged, to);
}

async function copyLink({ folder, staging }: FolderCopy, to: Buffer, info: FileInfo): Promise<void> {
  const staged = staging.next();
  await folder.makeLink(staged, Buffer.from(info.target ?? ""));
  await folder.rename(staged, to);
}
