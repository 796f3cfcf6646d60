import { BelljarError } from "../../errors.ts";
import { INSIDE } from "../../protocol/inside.ts";
import type { Mount, SandboxSpec } from "../contract/sandbox-spec.ts";

/** Each is one more mount in the kernel, for as long as the sandbox lives. */
export const MOUNTS_MAX = 8;
const PATH_MAX_BYTES = 1_024;
const NAME_MAX_BYTES = 255;
/** What the kernel and Belljar show there is the sandbox's own. Names such as `/lib` are links in most templates. */
const KEPT = ["/proc", "/sys", "/dev", INSIDE.programs, "/run", "/etc", "/usr", "/boot", "/bin", "/sbin"];
const KEPT_LIBRARIES = /^\/lib(?:32|64|x32)?(?:\/|$)/;

/** Throws `ARGUMENTS_INVALID` for a place where nothing can be mounted, for two of which one hides the other, and for too many. */
export function assertMounts({ mounts = [], workspace, inside }: Pick<SandboxSpec, "mounts" | "workspace" | "inside">): void {
  if (mounts.length > MOUNTS_MAX)
    throw invalid(`A sandbox has at most ${MOUNTS_MAX} shared folders: leave out ${mounts.length - MOUNTS_MAX}`);
  const taken = workspace ? [inside.workspace, inside.cwd, INSIDE.workspace] : [];
  for (const { at } of mounts) {
    assertPlace(at);
    const other = taken.find((place) => isBelow(at, place) || isBelow(place, at));
    if (other !== undefined)
      throw invalid(`A shared folder cannot be at ${at}: ${other} is taken, and one would hide the other. Choose another path`);
    taken.push(at);
  }
}

/** Whether something of the mounts lies where commands would start that name no folder. */
export function coversWorkspace(mounts: readonly Mount[] = []): boolean {
  return mounts.some(({ at }) => isBelow(at, INSIDE.workspace));
}

function assertPlace(at: string): void {
  if (!isPlain(at))
    throw invalid(
      `A shared folder's path inside is absolute, without "." or ".." parts and without a slash at its end: not ${JSON.stringify(at.slice(0, 200))}`,
    );
  const kept = KEPT.find((place) => isBelow(at, place) || isBelow(place, at));
  if (kept === undefined && !KEPT_LIBRARIES.test(at)) return;
  throw invalid(`A shared folder cannot be at ${at}: that is the sandbox's own. Choose a path such as /mnt/data`);
}

function isPlain(at: string): boolean {
  const [first, ...names] = at.split("/");
  return first === "" && names.length > 0 && Buffer.byteLength(at) <= PATH_MAX_BYTES && !at.includes("\0") && names.every(isName);
}

function isName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && Buffer.byteLength(name) <= NAME_MAX_BYTES;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
