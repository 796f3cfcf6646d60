import { hashOf } from "./compare-content.ts";
import { readGuestFile, readHostFile } from "./read-sides.ts";
import type { Sides } from "./read-sides.ts";
import { changesScripts, findReason, isPackageFile } from "./runs-unasked.ts";
import type { Selection } from "./select-paths.ts";
import type { HeldChange, WorkspaceChange } from "./workspace-change.ts";

const PACKAGE_MAX_BYTES = 1024 * 1024;
const SCRIPTS = "its scripts are run by package managers";

/**
 * Parts changes that programs of the host would run or obey unasked, and that nobody named, from the others. What was judged by its content
 * has the digest of that: nothing else is written.
 */
export async function holdBack(
  sides: Sides & { readonly selection: Selection },
  changes: readonly WorkspaceChange[],
): Promise<{ readonly free: readonly WorkspaceChange[]; readonly held: readonly HeldChange[] }> {
  const free: WorkspaceChange[] = [];
  const held: HeldChange[] = [];
  for (const change of changes) {
    const judged = sides.selection.isNamed(change.key) ? change : await judge(sides, change);
    if ("reason" in judged) held.push(judged);
    else free.push(judged);
  }
  return { free, held };
}

/** What goes runs nothing any more. */
async function judge(sides: Sides, change: WorkspaceChange): Promise<WorkspaceChange | HeldChange> {
  const { kind, key, guest } = change;
  if (kind === "removed" || (guest.type === "directory" && kind === "added")) return change;
  const reason = findReason(key);
  if (reason !== undefined) return { change, reason };
  return isPackageFile(key) && kind !== "mode_changed" && guest.type !== "directory" ? judgePackage(sides, change) : change;
}

async function judgePackage(sides: Sides, change: WorkspaceChange): Promise<WorkspaceChange | HeldChange> {
  const { guest, host, merged } = change;
  const bytes = Math.max(guest?.size ?? 0, host?.size ?? 0);
  if (bytes > PACKAGE_MAX_BYTES || guest?.type === "link") return { change, reason: SCRIPTS };
  const [before, inside] = await Promise.all([readHostFile(sides, change), merged ?? readGuestFile(sides, change)]);
  if (changesScripts(before, inside)) return { change, reason: SCRIPTS };
  // The digest of a merged file is that of the content that was merged.
  return merged ? change : { ...change, sha256: hashOf(inside) };
}
