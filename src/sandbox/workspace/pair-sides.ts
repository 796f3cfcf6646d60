import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromGuest, fromKey, showPath } from "./entry.ts";
import { isTooDeep, whyTooDeep } from "./too-deep.ts";
import type { SkippedEntry } from "./workspace-change.ts";

/** A path of a workspace, as each side has it. */
export interface Pair {
  readonly key: string;
  readonly guest?: Entry;
  readonly host?: HostEntry;
}

export interface PairedSides {
  /** Ordered by path. */
  readonly pairs: readonly Pair[];
  /** What cannot be compared. */
  readonly unusable: readonly SkippedEntry[];
}

export function pairSides(host: ReadonlyMap<string, HostEntry>, guest: ReadonlyMap<string, FileInfo>): PairedSides {
  const pairs: Pair[] = [];
  const unusable: SkippedEntry[] = [];
  for (const key of [...new Set([...host.keys(), ...guest.keys()])].toSorted(byPath)) {
    const [there, here] = [host.get(key), guest.get(key)];
    const reason = (here && reasonToSkip(here)) ?? depthReason(key, [there, here]);
    if (reason !== undefined) unusable.push({ path: showPath(fromKey(key)), reason });
    else pairs.push({ key, ...(there && { host: there }), ...(here && { guest: fromGuest(here) }) });
  }
  return { pairs, unusable };
}

function byPath(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function reasonToSkip(info: FileInfo): string | undefined {
  if (info.type === "other") return "it is a socket, a pipe or a device";
  if (info.type === "link" && (info.target === undefined || info.target.includes("\uFFFD"))) return "the link's text is not UTF-8";
  return undefined;
}

/** Nobody has seen what lies in it: so it is neither made nor removed. */
function depthReason(key: string, sides: readonly (Pick<Entry, "type"> | undefined)[]): string | undefined {
  return isTooDeep(key) && sides.some((side) => side?.type === "directory") ? whyTooDeep(key) : undefined;
}
