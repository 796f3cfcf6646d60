import { isUtf8 } from "node:buffer";
import { BelljarError } from "../../errors.ts";
import type { LineChange } from "../../text/choose-lines.ts";
import { takeChanges } from "../../text/choose-lines.ts";
import type { Texts } from "../../text/texts.ts";
import { HostFolder } from "./host-folder.ts";
import type { Sides } from "./read-sides.ts";
import { readGuestFile, readHostFile } from "./read-sides.ts";
import type { WorkspaceChange, WorkspaceDiff } from "./workspace-change.ts";

/** What somebody chose of a change: all of it, nothing, or some of its lines. */
export type Choice = "all" | "none" | readonly LineChange[];

type Sources = Omit<Sides, "folder"> & { readonly texts: Texts };

/** A diff with the chosen changes alone. What was not chosen stays in the sandbox: the next diff shows it. */
export async function chooseChanges(sources: Sources, diff: WorkspaceDiff, choices: ReadonlyMap<string, Choice>): Promise<WorkspaceDiff> {
  const folder = new HostFolder(diff.hostPath);
  const chosen: WorkspaceChange[] = [];
  for (const change of diff.changes) {
    const choice = choices.get(change.key) ?? "none";
    if (choice === "all") chosen.push(change);
    else if (choice !== "none" && choice.length > 0) chosen.push(await partOf({ ...sources, folder }, change, choice));
  }
  return { ...diff, changes: chosen };
}

/**
 * A change of which some lines are written. From then on its base has them too: merged of what the sandbox has and of what was written, so
 * that what was left out is a change of the sandbox's, and what the host has of its own is none.
 */
async function partOf(
  sources: Sources & { readonly folder: HostFolder },
  change: WorkspaceChange,
  lines: readonly LineChange[],
): Promise<WorkspaceChange> {
  const { guest, host } = change;
  if (!guest || !host) throw new TypeError(`No part of ${change.path} can be chosen`);
  const [before, inside] = await Promise.all([readHostFile(sources, change), readGuestFile(sources, change)]);
  if (!isUtf8(before))
    throw new BelljarError("WORKSPACE_CONFLICT", `Changed on the host since the diff: ${change.path}. Nothing was written`);
  const merged = Buffer.from(takeChanges(before.toString(), lines));
  const all = change.merged ?? inside;
  const base = all.equals(inside) ? merged : await mergeBase(sources, { base: all, ours: merged, theirs: inside });
  const entry = { ...guest, mode: host.mode, size: merged.length, mtimeNs: BigInt(Date.now()) * 1_000_000n };
  const part = { base, isMerged: change.merged !== undefined };
  return { ...change, kind: "modified", guest: entry, host, merged, unmerged: change.unmerged ?? guest, part };
}

/** Undefined where what was chosen touches what the host has of its own. */
async function mergeBase(
  { sandbox, texts, signal }: Sources,
  sides: { readonly base: Buffer; readonly ours: Buffer; readonly theirs: Buffer },
): Promise<Buffer | undefined> {
  const { merged } = await texts.run("merge", sides, { owner: sandbox.id, signal });
  return merged && Buffer.from(merged);
}
