import { BelljarError } from "../../../errors.ts";
import { INSIDE } from "../../../protocol/inside.ts";
import type { StateView } from "../../../runtime/contract/state-store.ts";
import { toKey } from "../../workspace/entry.ts";

/** What programs keep for a while. It changes with nearly every command, and is nobody's work. */
const PASSING = ["/tmp", "/var/tmp", "/run", "/var/cache", "/var/log", "/home/user/.cache", "/root/.cache"];
/** What Belljar and the kernel put there. The name in `hosts` and the certificates are each sandbox's own. */
const OWN = ["/dev", "/proc", "/sys", INSIDE.programs, "/etc/hosts", "/etc/ssl/certs", "/etc/ca-certificates/update.d/belljar"];
/** Both count only where they are named. */
const UNASKED = [...PASSING, ...OWN];

/** By the key of an absolute path. */
export type IsSelected = (key: string) => boolean;

/** Throws `PATH_INVALID` for what is no absolute path. */
export function selectStatePaths(paths: readonly string[] | undefined, { inside }: StateView["sandbox"]): IsSelected {
  const asked = (paths ?? ["/"]).map((path) => followPlaces(normalise(path), inside));
  const closed = UNASKED.filter((folder) => !asked.some((path) => isWithin(path, folder)));
  return (key) => asked.some((path) => isWithin(key, path)) && !closed.some((folder) => isWithin(key, folder));
}

function isWithin(key: string, folder: string): boolean {
  return folder === "" || key === folder || key.startsWith(`${folder}/`);
}

/** Without a slash at the end: the root is empty. */
function normalise(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (!path.startsWith("/") || parts.includes("..") || path.includes("\0"))
    throw new BelljarError("PATH_INVALID", `${path} is no absolute path of a sandbox: name paths as the diff does`);
  return toKey(Buffer.from(parts.map((part) => `/${part}`).join("")));
}

/** The workspace has other names, which are links to it. */
function followPlaces(key: string, { workspace, cwd }: StateView["sandbox"]["inside"]): string {
  const name = [INSIDE.workspace, cwd].find((place) => place !== workspace && isWithin(key, toKey(Buffer.from(place))));
  return name === undefined ? key : toKey(Buffer.from(workspace)) + key.slice(Buffer.byteLength(name));
}
