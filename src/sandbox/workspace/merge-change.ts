import type { Texts } from "../../text/texts.ts";
import type { Sandbox } from "../sandbox.ts";
import { mergeModes, mergeSides } from "../text-sides.ts";
import type { BaseState } from "./base/base-states.ts";
import { hashOf } from "./compare-content.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { hostGit } from "./host-git.ts";
import type { HostFolder } from "./host-folder.ts";
import { readGuestFile, readHostFile } from "./read-sides.ts";
import type { WorkspaceChange } from "./workspace-change.ts";

/** Larger files are not merged. */
const MAX_FILE_BYTES = 1024 * 1024;

export interface MergeSources {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly texts: Texts;
  readonly signal: AbortSignal;
}

type BothSides = WorkspaceChange & { readonly kind: "modified"; readonly guest: Entry; readonly host: HostEntry };

/** A file that both sides changed, with the changes of both. Undefined when the host has all of them already. */
export async function mergeChange(
  sources: MergeSources,
  change: BothSides,
  base: BaseState & { readonly began: Entry },
): Promise<WorkspaceChange | { readonly reason: string } | undefined> {
  const { guest, host } = change;
  const mode = mergeModes({ base: base.began.mode, ours: host.mode, theirs: guest.mode });
  if (mode === undefined) return { reason: "its mode was changed inside and outside" };
  if (Math.max(guest.size, host.size, base.began.size) > MAX_FILE_BYTES)
    return { reason: "changed inside and outside, and too large to merge" };
  const began = await readBase(sources, change.key, base);
  if (!began) return { reason: "changed inside and outside, and its text at the start is not known" };
  const [theirs, ours] = await Promise.all([readGuestFile(sources, change), readHostFile(sources, change)]);
  if (theirs.equals(began)) return mode === host.mode ? undefined : { ...change, kind: "mode_changed", guest: { ...guest, mode } };
  if ([began, theirs, ours].some((text) => text.includes(0))) return { reason: "changed inside and outside, and no text" };
  const merged = await mergeSides(sources.texts, { base: began, ours, theirs }, { owner: sources.sandbox.id, signal: sources.signal });
  if (!merged) return { reason: "the same lines were changed inside and outside" };
  if (merged.equals(ours)) return mode === host.mode ? undefined : { ...change, kind: "mode_changed", guest: { ...guest, mode } };
  const entry = { ...guest, mode, size: merged.length, mtimeNs: BigInt(Date.now()) * 1_000_000n };
  return { ...change, guest: entry, merged, unmerged: guest, sha256: hashOf(theirs) };
}

/** Undefined where it is not known. Git's text is taken only if it is as long as the file was: git may keep another text than it writes. */
async function readBase(
  { sandbox, folder, signal }: MergeSources,
  key: string,
  { began, blob, text }: BaseState & { readonly began: Entry },
): Promise<Buffer | undefined> {
  const read =
    blob === undefined ? undefined : hostGit(["cat-file", "blob", blob], { folder: folder.root, maxBytes: MAX_FILE_BYTES, signal });
  const found = text ?? (await read) ?? (await sandbox.workspaceBaseText(key));
  return found?.length === began.size ? found : undefined;
}
