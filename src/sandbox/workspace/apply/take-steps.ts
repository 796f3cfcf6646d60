import { BelljarError } from "../../../errors.ts";
import type { HostEntry } from "../entry.ts";
import { fromKey, showPath } from "../entry.ts";
import type { HostFolder } from "../host-folder.ts";
import { isSameFile, isUntouched } from "../stamp.ts";
import type { Step } from "./apply-journal.ts";

export interface Taking {
  readonly folder: HostFolder;
  /** Root gives what it makes to the user whose workspace it is. */
  readonly owner?: Pick<HostEntry, "uid" | "gid">;
  readonly signal: AbortSignal;
}

/**
 * Takes the steps in order. Nothing of the host's is overwritten: what lies in the way is moved away in one system call, looked at where it
 * lies then, and given back if it is not what was compared. Rejects with `WORKSPACE_CONFLICT` at the first step that cannot be taken.
 */
export async function takeSteps(taking: Taking, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    taking.signal.throwIfAborted();
    await takeStep(taking, step);
  }
}

async function takeStep({ folder, owner }: Taking, step: Step): Promise<void> {
  const path = fromKey(step.key);
  switch (step.kind) {
    case "take":
      return takeAway(folder, step);
    case "place":
      return asConflict(path, folder.place(fromKey(step.staged), path));
    case "make":
      await asConflict(path, folder.makeDirectory(path));
      if (owner) await folder.setOwner(path, owner);
      return;
    case "unmake":
      if (!(await asConflict(path, folder.removeFolder(path)))) throw changed(path);
      return;
    case "mode":
      return setMode(folder, step);
  }
}

async function takeAway(folder: HostFolder, { key, old, before }: Step & { readonly kind: "take" }): Promise<void> {
  const [path, away] = [fromKey(key), fromKey(old)];
  const now = await folder.stat(path);
  if (!now || !isUntouched(before, now)) throw changed(path);
  await asConflict(path, folder.rename(path, away));
  const taken = await folder.stat(away);
  if (taken && isSameFile(before, taken)) return;
  await folder.place(away, path);
  throw changed(path);
}

async function setMode(folder: HostFolder, { key, mode, before }: Step & { readonly kind: "mode" }): Promise<void> {
  const path = fromKey(key);
  const now = await folder.stat(path);
  if (!now || (before && !isUntouched(before, now))) throw changed(path);
  await folder.setMode(path, mode);
}

async function asConflict<T>(path: Buffer, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof BelljarError && ["FILE_EXISTS", "FILE_NOT_FOUND", "PATH_INVALID"].includes(cause.code)) throw changed(path, cause);
    throw cause;
  }
}

function changed(path: Buffer, cause?: unknown): BelljarError {
  return new BelljarError(
    "WORKSPACE_CONFLICT",
    `Changed on the host while it was written: ${showPath(path)}. Nothing was written: look at a new diff first`,
    { cause },
  );
}
