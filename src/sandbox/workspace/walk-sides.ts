import { BelljarError } from "../../errors.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { Sandbox } from "../sandbox.ts";
import { ClosedFolders, findIgnoredFolders, listIgnoredFolders, stoppedAt } from "./closed-folders.ts";
import { insidePath } from "./compare-content.ts";
import type { HostEntry } from "./entry.ts";
import { TOP_GIT } from "./git-name.ts";
import { GuestTree } from "./guest-tree.ts";
import type { HostFolder } from "./host-folder.ts";
import type { Selection } from "./select-paths.ts";
import { isTooDeep } from "./too-deep.ts";

const MAX_ENTRIES = 500_000;
/** So many folders are asked for one by one; then all is listed again. */
const OPENED_MAX = 200;

export interface WalkSources {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly selection: Selection;
  /** Also what git of the host ignores. */
  readonly ignored?: boolean;
  readonly signal: AbortSignal;
}

export interface WalkedSides {
  readonly host: ReadonlyMap<string, HostEntry>;
  readonly guest: ReadonlyMap<string, FileInfo>;
  readonly closed: ClosedFolders;
}

/** All of a workspace on both sides, but for what lies in closed folders and in those that are too deep. */
export async function walkSides(sources: WalkSources): Promise<WalkedSides> {
  const { sandbox, folder, selection, signal } = sources;
  const closed = new ClosedFolders(sources.ignored ? undefined : await listIgnoredFolders(folder.root, signal), selection);
  const tree = new GuestTree(sandbox, { signal, maxEntries: MAX_ENTRIES });
  const [host] = await Promise.all([
    folder.walk({ maxEntries: MAX_ENTRIES, signal, isClosed: (key) => isTooDeep(key) || closed.isClosed(key) }),
    tree.add(sandbox.inside.workspace, "", closed.names),
  ]);
  const { entries } = await openOthers(sources, { host, tree, closed });
  return { host, guest: closed.without(entries), closed };
}

/** Enters the sandbox's folders that only have the name of a closed one. */
async function openOthers(
  sources: WalkSources,
  { host, tree, closed }: { readonly host: WalkedSides["host"]; readonly tree: GuestTree; readonly closed: ClosedFolders },
): Promise<GuestTree> {
  const { folder, selection, ignored, signal } = sources;
  let left = OPENED_MAX;
  for (let stopped = stoppedAt(tree.entries, closed.names); stopped.length > 0;) {
    const unsure = stopped.filter((key) => !closed.isClosed(key) && host.get(key)?.type !== "directory");
    if (!ignored) closed.close(await findIgnoredFolders(folder.root, unsure, signal));
    const open = stopped.filter((key) => !closed.isClosed(key) && (key !== TOP_GIT || selection.leadsInto(key) || isObeyed(host, tree)));
    left -= open.length;
    if (left < 0) return listAll(sources);
    const found = new Map<string, FileInfo>();
    for (const key of open) for (const [below, info] of await enter(sources, { tree, key }, closed.namesBelow(key))) found.set(below, info);
    stopped = stoppedAt(found, closed.names);
  }
  return tree;
}

/** Nobody obeys a repository that the host does not have. What a guest has listed unasked is not listed again. */
function isObeyed(host: WalkedSides["host"], { entries }: GuestTree): boolean {
  return host.get(TOP_GIT)?.type === "directory" && ![...entries.keys()].some((key) => key.startsWith(`${TOP_GIT}/`));
}

async function listAll({ sandbox, signal }: WalkSources): Promise<GuestTree> {
  const tree = new GuestTree(sandbox, { signal, maxEntries: MAX_ENTRIES });
  await tree.add(sandbox.inside.workspace, "");
  return tree;
}

/** As where it is listed with all others, one that the sandbox's user may not enter, or that is gone, is empty. */
async function enter(
  { sandbox }: WalkSources,
  { tree, key }: { readonly tree: GuestTree; readonly key: string },
  closed: readonly string[],
): Promise<ReadonlyMap<string, FileInfo>> {
  try {
    return await tree.add(insidePath(sandbox, key), key, closed);
  } catch (cause) {
    const isNothing = cause instanceof BelljarError && ["FILE_DENIED", "FILE_NOT_FOUND", "FILE_NOT_DIRECTORY"].includes(cause.code);
    if (isNothing) return new Map();
    throw cause;
  }
}
