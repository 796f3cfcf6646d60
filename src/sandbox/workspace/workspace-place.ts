import { INSIDE } from "../../protocol/inside.ts";
import type { Inside } from "../../runtime/contract/run.ts";
import { LOCAL } from "../sandbox.ts";
import type { Principal } from "../sandbox.ts";
import type { NamedWorkspace } from "../wire/create-schema.ts";
import { isBelow } from "../../files/is-below.ts";

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
export function placeOfWorkspace(principal: Principal, { path }: NamedWorkspace): string {
  return isLocalUser(principal) && isFree(path) ? path : INSIDE.workspace;
}

/**
 * The path by which a sandbox names its workspace: the person's own spelling, a link inside, by the same rules as for the folder's path. Not
 * where one of the two paths leads into the other: there lies what the folder itself has.
 */
export function spellingInside(principal: Principal, workspace: NamedWorkspace): string {
  const place = placeOfWorkspace(principal, workspace);
  const { path, spelling } = workspace;
  if (spelling === undefined || !isLocalUser(principal) || !isFree(spelling)) return place;
  return isBelow(spelling, path) || isBelow(path, spelling) ? place : spelling;
}

/** What a sandbox shows inside, with its workspace. PWD tells programs, as a shell does, by which path they came into their folder. */
export function withWorkspace(inside: Inside, principal: Principal, workspace: NamedWorkspace | undefined): Inside {
  if (!workspace) return inside;
  const [place, cwd] = [placeOfWorkspace(principal, workspace), spellingInside(principal, workspace)];
  return { ...inside, workspace: place, cwd, ...(cwd !== place && { env: { ...inside.env, PWD: cwd } }) };
}

function isLocalUser({ id, grants }: Principal): boolean {
  return id === LOCAL.id && grants === undefined;
}

function isFree(path: string): boolean {
  return !SHARED.includes(path) && !TAKEN.some((taken) => isBelow(path, taken) || isBelow(taken, path));
}
