import type { StateView } from "../../../runtime/contract/state-store.ts";
import { mergeSides } from "../../text-sides.ts";
import { fromKey, showPath } from "../../workspace/entry.ts";
import type { ChangedPaths } from "../../wire/state-schemas.ts";
import { hasSameAttributes } from "./attributes.ts";
import { collectAllChanges } from "./collect-changes.ts";
import { judgePaths, type Verdict } from "./judge-paths.ts";
import { partUnseen } from "./part-unseen.ts";
import { readIfThere } from "./read-if-there.ts";
import type { MergeRequest, WithTexts } from "./requests.ts";
import { selectStatePaths } from "./select-state-paths.ts";
import { type PathWrite, writeChanges } from "./write-changes.ts";

/** Larger files are not merged. */
const MERGED_MAX_BYTES = 1024 * 1024;

type Conflict = ChangedPaths["conflicts"][number];
type TextVerdict = Verdict & { readonly kind: "merge" };

/** Brings what one sandbox has changed since both had the same state into another one, which lives. */
export async function mergeStates(request: WithTexts<MergeRequest>): Promise<ChangedPaths> {
  const { states, base, ours, theirs, guest, paths, signal } = request;
  const collecting = { states, isSelected: selectStatePaths(paths, ours.sandbox), signal };
  const sides = {
    theirs: await collectAllChanges(base, theirs, collecting),
    ours: await collectAllChanges(base, ours, collecting),
    between: await collectAllChanges(ours, theirs, collecting),
  };
  const conflicts: Conflict[] = [];
  const writes: PathWrite[] = [];
  for (const verdict of judgePaths(sides)) {
    const settled = verdict.kind === "merge" ? await mergeText(request, verdict) : verdict;
    if (settled?.kind === "write") writes.push(settled.write);
    if (settled?.kind === "conflict") conflicts.push({ path: showPath(fromKey(settled.key)), reason: settled.reason });
  }
  const { unseen, rest } = partUnseen([...sides.theirs, ...sides.ours], writes);
  const written = await writeChanges({ states, from: theirs, guest, signal }, rest);
  return { changed: written.changed, conflicts: [...conflicts, ...unseen, ...written.conflicts] };
}

/** Undefined when ours has all of their changes already. */
async function mergeText(
  request: WithTexts<MergeRequest>,
  { key, base, ours, theirs, mode }: TextVerdict,
): Promise<Exclude<Verdict, TextVerdict> | undefined> {
  const conflict = (reason: string) => ({ kind: "conflict", key, reason }) as const;
  if (Math.max(base.size, ours.size, theirs.size) > MERGED_MAX_BYTES) return conflict("both changed it, and it is too large to merge");
  const sides = await readSides(request, key);
  if (!sides) return conflict("it is being changed: try again");
  const content = await mergeContents(request, sides);
  if (typeof content === "string") return conflict(content);
  const wanted = { ...theirs, mode, size: content.length };
  const isSameEntry = mode === ours.mode && wanted.uid === ours.uid && wanted.gid === ours.gid && hasSameAttributes(wanted, ours);
  const isNothing = isSameEntry && content.equals(sides.ours);
  return isNothing ? undefined : { kind: "write", write: { key, now: ours, wanted, content } };
}

interface Sides {
  readonly base: Buffer;
  readonly ours: Buffer;
  readonly theirs: Buffer;
}

/** What both made of a text, or why that cannot be said. */
async function mergeContents({ texts, ours, signal }: WithTexts<MergeRequest>, sides: Sides): Promise<Buffer | string> {
  if (sides.theirs.equals(sides.base) || sides.theirs.equals(sides.ours)) return sides.ours;
  if (sides.ours.equals(sides.base)) return sides.theirs;
  if (Object.values(sides).some((side: Buffer) => side.includes(0))) return "both changed it, and it is no text";
  const merged = await mergeSides(texts, sides, { owner: ours.sandbox.id, signal });
  return merged ?? "both changed the same lines";
}

async function readSides({ states, base, ours, theirs, signal }: WithTexts<MergeRequest>, key: string): Promise<Sides | undefined> {
  const read = (view: StateView) => readIfThere(states, view, { path: fromKey(key), maxBytes: MERGED_MAX_BYTES, signal });
  const [began, here, there] = await Promise.all([read(base), read(ours), read(theirs)]);
  return began && here && there && { base: began, ours: here, theirs: there };
}
