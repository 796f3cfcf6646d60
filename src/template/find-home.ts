import { BelljarError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

const PASSWD = "/etc/passwd";
const PASSWD_MAX = 1024 * 1024;

/** The folders in which commands begin: those that the image names, where they are. */
export interface FoundFolders {
  readonly home: string;
  readonly cwd?: string;
}

/**
 * Looks in a sandbox that was just made from an image. `user`: as an image names it: a name or an id, and a group after a colon. Where the
 * image says nothing of its home, that is `/`, as for Docker.
 */
export async function findFolders(
  { guest }: Pick<Sandbox, "guest">,
  { user, workingDir }: { readonly user: string; readonly workingDir?: string | undefined },
  signal: AbortSignal,
): Promise<FoundFolders> {
  const isFolder = async (path: string): Promise<boolean> =>
    (await orAbsent(guest.files.stat(path, { follow: true, signal })))?.type === "directory";
  const passwd = await orAbsent(guest.files.read(PASSWD, { maxBytes: PASSWD_MAX, signal }));
  const named = homeOf(passwd?.toString() ?? "", user.split(":", 1)[0] ?? "");
  const home = named !== undefined && (await isFolder(named)) ? named : "/";
  return { home, ...(workingDir !== undefined && (await isFolder(workingDir)) && { cwd: workingDir }) };
}

/** By lines and fields: a pattern that searches the whole file reads one that is hostile again from each of its separators. */
function homeOf(passwd: string, user: string): string | undefined {
  for (const line of passwd.split("\n")) {
    const [name, , uid = "", , , home, shell] = line.split(":", 7);
    const isWhole = shell !== undefined && home?.startsWith("/") && /^[0-9]+$/.test(uid);
    if (isWhole && (name === user || uid === user)) return home;
  }
  return undefined;
}

async function orAbsent<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (cause) {
    const isAbsent = cause instanceof BelljarError && ["FILE_NOT_FOUND", "FILE_NOT_DIRECTORY", "FILE_DENIED"].includes(cause.code);
    if (isAbsent) return undefined;
    throw cause;
  }
}
