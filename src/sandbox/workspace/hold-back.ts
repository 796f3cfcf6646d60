import { readGuestFile, readHostFile } from "./read-sides.ts";
import type { Sides } from "./read-sides.ts";
import { changesScripts, findReason, isPackageFile } from "./runs-unasked.ts";
import type { Selection } from "./select-paths.ts";
import type { HeldChange, WorkspaceChange } from "./workspace-change.ts";

const PACKAGE_MAX_BYTES = 1024 * 1024;
const SCRIPTS = "its scripts are run by package managers";

/** Parts changes that programs of the host would run or obey unasked, and that nobody named, from the others. */
export async function holdBack(
  sides: Sides & { readonly selection: Selection },
  changes: readonly WorkspaceChange[],
): Promise<{ readonly free: readonly WorkspaceChange[]; readonly held: readonly HeldChange[] }> {
  const free: WorkspaceChange[] = [];
  const held: HeldChange[] = [];
  for (const change of changes) {
    const reason = sides.selection.isNamed(change.key) ? undefined : await reasonFor(sides, change);
    if (reason === undefined) free.push(change);
    else held.push({ change, reason });
  }
  return { free, held };
}

/** What goes runs nothing any more. */
async function reasonFor(sides: Sides, change: WorkspaceChange): Promise<string | undefined> {
  if (change.kind === "removed" || (change.guest.type === "directory" && change.kind === "added")) return undefined;
  const reason = findReason(change.key);
  if (reason !== undefined || !isPackageFile(change.key) || change.kind === "mode_changed") return reason;
  if (change.guest.size > PACKAGE_MAX_BYTES || (change.host?.size ?? 0) > PACKAGE_MAX_BYTES || change.guest.type === "link") return SCRIPTS;
  const [before, after] = await Promise.all([readHostFile(sides, change), change.merged ?? readGuestFile(sides, change)]);
  return changesScripts(before, after) ? SCRIPTS : undefined;
}
