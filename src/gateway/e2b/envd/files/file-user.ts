import { posix } from "node:path";
import { BelljarError } from "../../../../errors.ts";
import type { FileCall } from "../../../../runtime/guest/guest.ts";
import { INSIDE } from "../../../../sandbox/sandbox.ts";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";

/** Who works on the files of a sandbox. The guest does it as this user inside, with this user's rights. */
export interface FileUser {
  /** Undefined: the sandbox's own user. */
  readonly name: string | undefined;
  readonly home: string;
  /** What an empty path is. */
  readonly folder: string;
}

export function callAs({ name }: FileUser, signal: AbortSignal): FileCall {
  return name === undefined ? { signal } : { user: name, signal };
}

const ACCOUNTS = "/etc/passwd";
const ACCOUNTS_MAX_BYTES = 1_048_576;
/** What the guest would read as an id or as a group is no name. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}\$?$/;
/** Sandboxes whose images have no list of accounts have these all the same. */
const HOMES: Readonly<Record<string, string>> = { [INSIDE.user]: INSIDE.userHome, [INSIDE.root]: INSIDE.rootHome };

/** Undefined or empty: the sandbox's own user. Resolves to undefined for a name that the sandbox does not know. */
export async function findFileUser(sandbox: Sandbox, name: string | undefined, signal: AbortSignal): Promise<FileUser | undefined> {
  const { home, cwd } = sandbox.inside;
  if (name === undefined || name === "") return { name: undefined, home, folder: cwd };
  if (!NAME.test(name)) return undefined;
  const found = homeOf(await readAccounts(sandbox, signal), name) ?? HOMES[name];
  return found === undefined ? undefined : { name, home: found, folder: found };
}

async function readAccounts({ guest }: Sandbox, signal: AbortSignal): Promise<string> {
  try {
    return (await guest.files.read(ACCOUNTS, { signal, maxBytes: ACCOUNTS_MAX_BYTES })).toString();
  } catch (error) {
    if (error instanceof BelljarError && LACKING.has(error.code)) return "";
    throw error;
  }
}

const LACKING: ReadonlySet<BelljarError["code"]> = new Set(["FILE_NOT_FOUND", "FILE_DENIED", "FILE_TOO_LARGE", "NOT_SUPPORTED"]);

/** Whoever is root inside may have written anything: a home that is no absolute path is none. */
function homeOf(accounts: string, name: string): string | undefined {
  const line = accounts.split("\n").find((one) => one.startsWith(`${name}:`));
  const home = line?.split(":")[5];
  return home === "" ? "/" : home?.startsWith("/") ? home : undefined;
}

/**
 * Absolute, as E2B reads paths: `~` and what is relative begin at the user's home, an absolute path stays as it is. No link is followed: whatever
 * the path leads to lies in the sandbox. Throws `PATH_INVALID` for another user's `~`.
 */
export function resolveFilePath(path: string, { home, folder }: FileUser): string {
  if (path === "") return folder;
  if (/^~[^/\\]/.test(path)) {
    throw new BelljarError("PATH_INVALID", `failed to expand path '${path}': cannot expand user-specific home dir`);
  }
  if (path.startsWith("~")) return posix.join(home, path.slice(1));
  return path.startsWith("/") ? path : posix.join(home, path);
}
