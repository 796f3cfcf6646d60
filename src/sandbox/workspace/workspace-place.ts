import { INSIDE } from "../../protocol/inside.ts";
import type { Inside, Workspace } from "../../runtime/runtime.ts";
import { LOCAL } from "../sandbox.ts";
import type { Principal } from "../sandbox.ts";

/** What sandboxes have there is their own, or the template's. */
const TAKEN = [
  "/proc",
  "/dev",
  "/sys",
  "/usr",
  "/etc",
  "/tmp",
  "/root",
  "/run",
  "/boot",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/var/backups",
  "/var/cache",
  "/var/local",
  "/var/lock",
  "/var/log",
  "/var/mail",
  "/var/opt",
  "/var/run",
  "/var/spool",
  "/var/tmp",
  "/var/lib/apt",
  "/var/lib/dpkg",
  "/var/lib/misc",
  "/var/lib/python",
  INSIDE.programs,
  INSIDE.workspace,
  INSIDE.userHome,
];
/** Folders of every template that only hold others. */
const SHARED = ["/", "/home", "/media", "/mnt", "/opt", "/srv", "/var", "/var/lib"];

/**
 * Where a sandbox shows a workspace: at the folder's own path on the host, so that paths of the host are right inside too. Only for the
 * local user, since programs inside learn the path, and where nothing of a template lies: else at `/workspace`.
 */
export function placeOfWorkspace({ id, grants }: Principal, { path }: Workspace): string {
  const isLocal = id === LOCAL.id && grants === undefined;
  return isLocal && isFree(path) ? path : INSIDE.workspace;
}

/** What a sandbox shows inside, with its workspace. */
export function withWorkspace(inside: Inside, principal: Principal, workspace: Workspace | undefined): Inside {
  if (!workspace) return inside;
  const place = placeOfWorkspace(principal, workspace);
  return { ...inside, workspace: place, cwd: place };
}

function isFree(path: string): boolean {
  return !SHARED.includes(path) && !TAKEN.some((taken) => isWithin(path, taken) || isWithin(taken, path));
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
