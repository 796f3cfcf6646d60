import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * How ids inside map to the host's. `slot`: root gives each sandbox 65,536 ids of its own. `subids`: the ids that
 * /etc/subuid gives this user, through newuidmap. `single`: one id, so root and user are the same inside.
 */
export type IdMap =
  | { readonly kind: "slot" }
  | { readonly kind: "single" }
  | { readonly kind: "subids"; readonly subuid: number; readonly subgid: number; readonly newuidmap: string; readonly newgidmap: string };

export const ID_MAP_KIND = { slot: 1, single: 2, subids: 3 } as const;

const IDS_NEEDED = 65_536;
const HELPER_FOLDERS = ["usr/bin", "usr/local/bin", "bin"];

/** The user who asks, and another `/` to look in. */
export interface IdMapHost {
  readonly uid: number | undefined;
  readonly root: string;
}

const THIS_HOST: IdMapHost = { uid: process.getuid?.(), root: "/" };

/** `forced` is for tests: the map that a better-equipped host would not choose. */
export function findIdMap(forced?: IdMap["kind"], host: IdMapHost = THIS_HOST): IdMap {
  if (forced === "slot" || (host.uid === 0 && forced === undefined)) return { kind: "slot" };
  return (forced === "single" ? undefined : findSubids(host)) ?? { kind: "single" };
}

function findSubids(host: IdMapHost): IdMap | undefined {
  const newuidmap = findHelper(host, "newuidmap");
  const newgidmap = findHelper(host, "newgidmap");
  const subuid = findRange(host, "etc/subuid");
  const subgid = findRange(host, "etc/subgid");
  if (!newuidmap || !newgidmap || subuid === undefined || subgid === undefined) return undefined;
  return { kind: "subids", subuid, subgid, newuidmap, newgidmap };
}

function findHelper({ root }: IdMapHost, name: string): string | undefined {
  return HELPER_FOLDERS.map((folder) => join(root, folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** First id of this user's first range that is long enough; see subuid(5). */
function findRange(host: IdMapHost, file: string): number | undefined {
  const names = [String(host.uid), nameOf(host)];
  for (const line of readOptional(join(host.root, file)).split("\n")) {
    const [name, first, count] = line.split(":");
    if (name !== undefined && names.includes(name) && Number(count) >= IDS_NEEDED) return Number(first);
  }
  return undefined;
}

/** Undefined for a user that /etc/passwd does not know. */
function nameOf({ uid, root }: IdMapHost): string | undefined {
  const line = readOptional(join(root, "etc/passwd"))
    .split("\n")
    .find((entry) => entry.split(":")[2] === String(uid));
  return line?.split(":")[0];
}

function readOptional(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
