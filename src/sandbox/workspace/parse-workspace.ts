import { access, constants, realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Workspace } from "../../runtime/contract/sandbox-spec.ts";
import { errnoOf } from "../../files/file-error.ts";
import type { NamedWorkspace } from "../wire/create-schema.ts";
import { isBelow } from "../../files/is-below.ts";

const MODES = ["copy", "ro", "rw"] as const satisfies readonly Workspace["mode"][];
const MAX_PATH_BYTES = 4095;

/** The host's own: a sandbox that sees one of these, or writes it, is none. What lies below them is refused too. */
const SYSTEM_FOLDERS = ["/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/run", "/var/run"];
/** Where a desktop mounts disks. */
const MOUNTED_DISKS = "/run/media";
/** Too wide to hand over whole, though a project may lie below them. */
const WIDE_FOLDERS = ["/", "/home", "/root", "/var", "/var/lib", "/opt", "/srv", "/mnt", "/media", "/tmp"];

export interface ParseWorkspaceOptions {
  readonly home: string;
  readonly cwd?: string;
  /** By which path the person came into `cwd`: the variable PWD, which anybody may have set. */
  readonly pwd?: string | undefined;
}

/**
 * `DIR[:copy|:ro|:rw]`, a relative DIR below `cwd`. The result's path is real: links in it are followed once, now. It has the person's spelling
 * beside it if that is another one. Rejects with `WORKSPACE_INVALID`.
 */
export async function parseWorkspace(text: string, { home, cwd = process.cwd(), pwd }: ParseWorkspaceOptions): Promise<NamedWorkspace> {
  const { path: named, mode } = splitMode(text);
  if (named === "" || named.includes("\0")) throw new BelljarError("WORKSPACE_INVALID", "A workspace is written DIR[:copy|:ro|:rw]");
  const path = await resolveFolder(resolve(cwd, named));
  assertAllowed(path, await realHome(home));
  const start = pwd !== undefined && isSpelling(pwd) && (await leadsTo(pwd, await realpath(cwd))) ? pwd : cwd;
  const spelling = resolve(start, named);
  const isOther = spelling !== path && isSpelling(spelling) && (await leadsTo(spelling, path));
  return { path, mode, ...(isOther && { spelling }) };
}

/** An absolute path without detours, which no line that names it is broken by. */
function isSpelling(path: string): boolean {
  return path.startsWith("/") && resolve(path) === path && !/\p{Cc}/u.test(path) && Buffer.byteLength(path) <= MAX_PATH_BYTES;
}

async function leadsTo(path: string, real: string): Promise<boolean> {
  return (await realpath(path).catch(() => undefined)) === real;
}

/** Holds a workspace that a caller named to the same rules: its path must be the real one, and its spelling lead there. */
export async function checkWorkspace(workspace: NamedWorkspace, home: string): Promise<void> {
  const real = await resolveFolder(workspace.path);
  if (real !== workspace.path)
    throw new BelljarError("WORKSPACE_INVALID", `The workspace ${workspace.path} must be named by its real path, ${real}`);
  const { spelling } = workspace;
  if (spelling !== undefined && !(isSpelling(spelling) && (await leadsTo(spelling, real))))
    throw new BelljarError("WORKSPACE_INVALID", `The spelling of the workspace ${real} must be an absolute path that leads there`);
  assertAllowed(real, await realHome(home));
}

function splitMode(text: string): Workspace {
  const mode = MODES.find((one) => text.endsWith(`:${one}`));
  return mode ? { path: text.slice(0, -mode.length - 1), mode } : { path: text, mode: "copy" };
}

async function resolveFolder(path: string): Promise<string> {
  if (!path.startsWith("/") || Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new BelljarError("WORKSPACE_INVALID", "A workspace needs an absolute path below 4,096 bytes");
  try {
    const real = await realpath(path);
    if ((await stat(real)).isDirectory()) {
      await access(real, constants.R_OK | constants.X_OK);
      return real;
    }
  } catch (cause) {
    throw new BelljarError(
      "WORKSPACE_INVALID",
      `The workspace ${path} cannot be used (${errnoOf(cause) ?? "unknown error"}): name a folder that this user may read, as DIR[:copy|:ro|:rw]`,
      { cause },
    );
  }
  throw new BelljarError("WORKSPACE_INVALID", `The workspace ${path} is not a folder`);
}

/** A home that is not there yet holds nothing. */
async function realHome(home: string): Promise<string> {
  try {
    return await realpath(home);
  } catch {
    return resolve(home);
  }
}

function assertAllowed(path: string, home: string): void {
  if (WIDE_FOLDERS.includes(path))
    throw new BelljarError("WORKSPACE_INVALID", `${path} is too wide for a workspace: name a project's folder in it`);
  if (SYSTEM_FOLDERS.some((folder) => isBelow(path, folder)) && !isBelow(path, MOUNTED_DISKS))
    throw new BelljarError("WORKSPACE_INVALID", `${path} belongs to the host's system and cannot be a workspace`);
  if (isBelow(path, home) || isBelow(home, path))
    throw new BelljarError(
      "WORKSPACE_INVALID",
      `The workspace ${path} and the home of Belljar, ${home}, must not hold each other: sandboxes would see one another's files`,
    );
}
