import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../../files/file-error.ts";
import { INSIDE } from "../../protocol/inside.ts";
import type { FileIds, SharedFolders } from "../contract/shared-folders.ts";
import type { IdMap } from "./id-map.ts";

/** Of `native/jail/jail.h`: the range that files of layers have on the host, and how many ids a sandbox has. */
const CANONICAL_FIRST_ID = 1_000_000_000;
const SLOT_SIZE = 65_536;
const NOBODY = 65_534;
/** In the place of a sandbox's id, for work on what is no sandbox's. */
export const NO_SANDBOX = "00000000000000000000";
const USER = Number(INSIDE.userId);

/** What `FROZEN_TREE` of `native/jail/layers.h` says: the job that removes the tree of a layer removes these too. */
export function treeOf(folder: string): string {
  return join(folder, "tree");
}

/** `work`: what processes of the native binary do, with the ids of all that sandboxes wrote. */
export function namespaceSharedFolders(idMap: IdMap, work: Pick<SharedFolders, "remove" | "measure">): SharedFolders {
  const ids = idsOf(idMap);
  return {
    ...ids,
    ...work,
    async make(folder) {
      const tree = treeOf(folder);
      const { uid, gid } = ids.toHost({ uid: USER, gid: USER }) ?? ownIds();
      try {
        await mkdir(tree, { mode: 0o755 });
        await chown(tree, uid, gid);
      } catch (cause) {
        throw fileError(tree, cause);
      }
    },
  };
}

/** Only root may give files away. Who writes them inside has other ids with sub-ids too. */
function idsOf(idMap: IdMap): Pick<SharedFolders, "toHost" | "toInside"> {
  if (idMap.kind === "slot") {
    const toHost = (id: number): number | undefined => (id < SLOT_SIZE ? CANONICAL_FIRST_ID + id : undefined);
    const toInside = (id: number): number =>
      id >= CANONICAL_FIRST_ID && id < CANONICAL_FIRST_ID + SLOT_SIZE ? id - CANONICAL_FIRST_ID : NOBODY;
    return {
      toHost: ({ uid, gid }) => bothOf(toHost(uid), toHost(gid)),
      toInside: ({ uid, gid }) => ({ uid: toInside(uid), gid: toInside(gid) }),
    };
  }
  const own = ownIds();
  const [subuid, subgid] = idMap.kind === "subids" ? [idMap.subuid, idMap.subgid] : [undefined, undefined];
  return {
    toHost: ({ uid, gid }) => (uid === USER && gid === USER ? own : undefined),
    toInside: ({ uid, gid }) => ({ uid: insideOf(uid, own.uid, subuid), gid: insideOf(gid, own.gid, subgid) }),
  };
}

/** As `exec_map_helper` of `native/jail/idmap.c` maps them: this process's own id is the user's, which the range goes around. */
function insideOf(id: number, own: number, first: number | undefined): number {
  if (id === own) return USER;
  const place = first === undefined ? -1 : id - first;
  if (place < 0 || place >= SLOT_SIZE - 1) return NOBODY;
  return place < USER ? place : place + 1;
}

function bothOf(uid: number | undefined, gid: number | undefined): FileIds | undefined {
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

function ownIds(): FileIds {
  return { uid: process.getuid?.() ?? NOBODY, gid: process.getgid?.() ?? NOBODY };
}
