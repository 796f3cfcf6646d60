import type { Dirent } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { basename, dirname, join, normalize } from "node:path";
import type { LayerWriter } from "./layer.ts";
import { makeParents, readWorldFile } from "./layer.ts";

/** Where a copied link may lead. Any other link would show a name of the host's that is none of the sandbox's business. */
const LINK_TARGETS = ["/usr/", "/etc/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/var/lib/"];

interface Copy {
  /** The folder of the host that stands for the sandbox's `/etc` or `/var`. */
  readonly from: string;
  readonly layer: LayerWriter;
  /** `etc` or `var`. */
  readonly into: string;
}

/** Copies what the rows name and the whole world may read; a row that this host lacks is no failure. */
export async function copyRowsIfPresent(copy: Copy, rows: readonly { readonly path: string }[]): Promise<void> {
  for (const row of rows) {
    for (const path of expandRow(row.path, await namesIn(join(copy.from, dirname(row.path))))) await copyRow(copy, path);
  }
}

/** The paths that a row stands for among the names in its folder. */
export function expandRow(row: string, names: readonly string[]): readonly string[] {
  const [head = "", tail] = basename(row).split("*");
  const matches = (name: string): boolean =>
    tail === undefined ? name === head : name.startsWith(head) && name.endsWith(tail) && name.length > head.length;
  return names.filter(matches).map((name) => join(dirname(row), name));
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return absentIs([], readdir(folder));
}

async function copyRow(copy: Copy, path: string): Promise<void> {
  if (!(await isReachable(copy.from, dirname(path)))) return;
  await makeParents(copy.layer, join(copy.into, path));
  const stat = await lstat(join(copy.from, path));
  if (stat.isDirectory()) await copyFolder(copy, path);
  else if (stat.isSymbolicLink()) await copyLink(copy, path);
  else if (stat.isFile()) await copyFile(copy, path);
}

/** Every folder above is a real one that the whole world may enter. */
async function isReachable(from: string, path: string): Promise<boolean> {
  if (path === ".") return true;
  const stat = await lstat(join(from, path));
  return stat.isDirectory() && (stat.mode & 0o001) !== 0 && isReachable(from, dirname(path));
}

async function copyFolder(copy: Copy, path: string): Promise<void> {
  const source = join(copy.from, path);
  if (((await lstat(source)).mode & 0o005) !== 0o005) return;
  await copy.layer.folder(join(copy.into, path));
  for (const entry of await readdir(source, { withFileTypes: true })) await copyEntry(copy, join(path, entry.name), entry);
}

async function copyEntry(copy: Copy, path: string, entry: Dirent): Promise<void> {
  if (entry.isDirectory()) await copyFolder(copy, path);
  else if (entry.isSymbolicLink()) await copyLink(copy, path);
  else if (entry.isFile()) await copyFile(copy, path);
}

async function copyLink(copy: Copy, path: string): Promise<void> {
  const target = await readlink(join(copy.from, path));
  const absolute = normalize(target.startsWith("/") ? target : join("/", copy.into, dirname(path), target));
  if (LINK_TARGETS.some((prefix) => absolute.startsWith(prefix))) await copy.layer.link(join(copy.into, path), target);
}

async function copyFile(copy: Copy, path: string): Promise<void> {
  const source = join(copy.from, path);
  // A file of another owner that we may not open is not for the whole world either.
  if (((await lstat(source)).mode & 0o004) === 0) return;
  const file = await readWorldFile(source);
  if (file) await copy.layer.file(join(copy.into, path), file.content, { mode: file.mode });
}

/** Only "it is not there" gives the fallback; any other failure passes. */
export async function absentIs<T>(fallback: T, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return fallback;
    throw error;
  }
}
