import { BelljarError } from "../../../errors.ts";
import { fromKey } from "../entry.ts";
import type { HostFolder } from "../host-folder.ts";
import { isSameFile } from "../stamp.ts";
import type { ApplyJournal, Step } from "./apply-journal.ts";
import type { OldFiles } from "./old-files.ts";

/** Keys of what was undone, and of what somebody changed since, which stays. */
export interface Undone {
  readonly undone: ReadonlySet<string>;
  readonly left: ReadonlySet<string>;
}

/**
 * Undoes the steps of a journal that were taken, from the last one, and removes what was on its way. Whether a step was taken is read from the
 * folder, so it may be called again after it was cut off itself.
 */
export async function undoSteps(folder: HostFolder, { steps, staging }: ApplyJournal, old: OldFiles): Promise<Undone> {
  const keys = { none: new Set<string>(), undone: new Set<string>(), left: new Set<string>() };
  for (const step of steps.toReversed()) keys[await undoStep({ folder, old }, step)].add(step.key);
  for (const step of steps) for (const path of stagedBy(step)) await folder.remove(fromKey(path));
  await removeRest(folder, staging);
  for (const key of keys.left) keys.undone.delete(key);
  return keys;
}

/** `none`: the step was not taken. `left`: what lies there is somebody else's now. */
type StepEnd = "none" | "undone" | "left";

interface Undoing {
  readonly folder: HostFolder;
  readonly old: OldFiles;
}

async function undoStep({ folder, old }: Undoing, step: Step): Promise<StepEnd> {
  const path = fromKey(step.key);
  const now = await folder.stat(path);
  switch (step.kind) {
    case "take":
      return giveBack(folder, old, step);
    case "place":
      if (!now || now.inode !== step.after.inode) return "none";
      return isSameFile(step.after, now) && (await removeOwn(folder, step, fromKey(`${step.staged}-back`))) ? "undone" : "left";
    case "make":
      if (now?.type !== "directory") return "none";
      return (await folder.removeFolder(path)) ? "undone" : "left";
    case "unmake":
      if (now) return now.type === "directory" ? "none" : "left";
      await folder.makeDirectory(path);
      if (process.getuid?.() === 0) await folder.setOwner(path, step.before);
      await folder.setMode(path, step.before.mode);
      return "undone";
    case "mode":
      if (!step.before || now?.inode !== step.before.inode || now.mode !== step.mode) return "none";
      await folder.setMode(path, step.before.mode);
      return "undone";
  }
}

/** Moved away first: what somebody writes in this moment is looked at, and given back. */
async function removeOwn(folder: HostFolder, { key, after }: Step & { readonly kind: "place" }, away: Buffer): Promise<boolean> {
  await folder.rename(fromKey(key), away);
  const taken = await folder.stat(away);
  const isOwn = taken !== undefined && isSameFile(after, taken);
  if (isOwn) await folder.remove(away);
  else await folder.place(away, fromKey(key));
  return isOwn;
}

async function giveBack(folder: HostFolder, old: OldFiles, { key, old: name, before }: Step & { readonly kind: "take" }): Promise<StepEnd> {
  const away = fromKey(name);
  const there = await folder.stat(away);
  // Another file than the old one may be a copy that was cut off.
  if (there?.inode !== before.inode && !(await old.bringBack(name, before)) && !there) return "none";
  try {
    await folder.place(away, fromKey(key));
    return "undone";
  } catch (cause) {
    if (!(cause instanceof BelljarError) || !["FILE_EXISTS", "FILE_NOT_FOUND", "PATH_INVALID"].includes(cause.code)) throw cause;
    await old.keep(name, before);
    return "left";
  }
}

function stagedBy(step: Step): readonly string[] {
  if (step.kind === "take") return [step.old];
  return step.kind === "place" ? [step.staged] : [];
}

async function removeRest(folder: HostFolder, staging: string): Promise<void> {
  if (await folder.stat(fromKey(staging))) await folder.removeFolder(fromKey(staging));
}
