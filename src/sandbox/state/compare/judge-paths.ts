import type { StateChange, StateEntry } from "../../../runtime/contract/state-store.ts";
import { mergeModes } from "../../text-sides.ts";
import { parentKey } from "../../workspace/entry.ts";
import { mergeAttributes } from "./attributes.ts";
import type { PathWrite } from "./write-changes.ts";

type Changes = ReadonlyMap<string, StateChange>;

export interface ComparedSides {
  /** From the state that both had to ours, to theirs, and from ours to theirs. */
  readonly ours: Changes;
  readonly theirs: Changes;
  readonly between: Changes;
}

export type Verdict =
  | { readonly kind: "write"; readonly write: PathWrite }
  /** A text that both changed, and the mode that it gets. */
  | {
      readonly kind: "merge";
      readonly key: string;
      readonly base: StateEntry;
      readonly ours: StateEntry;
      readonly theirs: StateEntry;
      readonly mode: number;
    }
  | { readonly kind: "conflict"; readonly key: string; readonly reason: string };

const ABOVE = "the folder that holds it was removed or replaced here";

/**
 * Decides what becomes of each path that they changed, ordered by path: what they alone changed is taken, what both changed alike is no
 * change, and what both changed otherwise is a text to be merged, or a conflict. What lies in a folder with a conflict is left alone with it.
 */
export function judgePaths(sides: ComparedSides): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  const blocked = new Set<string>();
  const oursBelow = foldersWithNew(sides.ours, sides.between);
  for (const [key, change] of sides.theirs) {
    if (!sides.between.has(key)) continue;
    if (isBelow(key, blocked)) continue;
    const verdict = isWithoutFolder(key, change, sides)
      ? ({ kind: "conflict", key, reason: ABOVE } as const)
      : judge(key, change, sides.ours.get(key), oursBelow);
    verdicts.push(verdict);
    if (verdict.kind === "conflict" && change.after !== undefined && change.before?.type !== change.after.type) blocked.add(key);
  }
  return verdicts;
}

function judge(key: string, theirs: StateChange, ours: StateChange | undefined, oursBelow: ReadonlySet<string>): Verdict {
  const conflict = (reason: string): Verdict => ({ kind: "conflict", key, reason });
  const isFolderGone = theirs.before?.type === "directory" && theirs.after?.type !== "directory";
  if (isFolderGone && oursBelow.has(key)) return conflict("they removed or replaced the folder, and something in it was changed here");
  if (!ours) return { kind: "write", write: { key, now: theirs.before, wanted: theirs.after } };
  if (!theirs.after) return conflict("they removed it, and it was changed here");
  if (!ours.after) return conflict("they changed it, and it was removed here");
  if (!theirs.before) return conflict("both added it, with other contents");
  return judgeBoth(key, { base: theirs.before, ours: ours.after, theirs: theirs.after });
}

function judgeBoth(
  key: string,
  { base, ours, theirs }: { readonly base: StateEntry; readonly ours: StateEntry; readonly theirs: StateEntry },
): Verdict {
  const conflict = (reason: string): Verdict => ({ kind: "conflict", key, reason });
  if (ours.type !== theirs.type || base.type !== ours.type) return conflict("both changed it, into something of another kind");
  if (ours.type === "link") return conflict("both changed where the link leads");
  const mode = mergeModes({ base: base.mode, ours: ours.mode, theirs: theirs.mode });
  if (mode === undefined) return conflict("both changed its mode");
  if (isOwnerChanged(base, ours) && isOwnerChanged(base, theirs) && isOwnerChanged(ours, theirs)) return conflict("both changed its owner");
  const owner = isOwnerChanged(base, theirs) ? theirs : ours;
  const attributed = mergeAttributes({ base, ours, theirs });
  if (!attributed) return conflict("both changed its extended attributes");
  const { attributes, hasUntoldAttributes } = attributed;
  const merged = { uid: owner.uid, gid: owner.gid, attributes, hasUntoldAttributes };
  if (ours.type === "directory") return { kind: "write", write: { key, now: ours, wanted: { ...ours, ...merged, mode } } };
  if (ours.type === "other") return conflict("both changed it, and it is no file");
  return { kind: "merge", key, base, ours, theirs: { ...theirs, ...merged }, mode };
}

function isOwnerChanged(one: StateEntry, other: StateEntry): boolean {
  return one.uid !== other.uid || one.gid !== other.gid;
}

/** Folders in which ours has something that neither the shared state nor theirs has. */
function foldersWithNew(ours: Changes, between: Changes): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [key, { after }] of ours) {
    if (!after || !between.has(key)) continue;
    for (let folder = parentKey(key); folder !== "" && !found.has(folder); folder = parentKey(folder)) found.add(folder);
  }
  return found;
}

/** Ours has no folder there into which it could be put, and they did not make it. */
function isWithoutFolder(key: string, { after }: StateChange, { ours, theirs }: ComparedSides): boolean {
  if (!after) return false;
  const parent = parentKey(key);
  const here = ours.get(parent);
  return here !== undefined && here.after?.type !== "directory" && theirs.get(parent) === undefined;
}

function isBelow(key: string, folders: ReadonlySet<string>): boolean {
  for (let folder = parentKey(key); folder !== ""; folder = parentKey(folder)) if (folders.has(folder)) return true;
  return false;
}
