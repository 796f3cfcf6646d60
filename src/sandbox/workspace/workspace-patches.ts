import type { Texts } from "../../text/texts.ts";
import type { Sandbox } from "../sandbox.ts";
import { diffSides, isText } from "../text-sides.ts";
import { hashOf } from "./compare-content.ts";
import type { Entry } from "./entry.ts";
import { fromKey, showPath } from "./entry.ts";
import type { HostFolder } from "./host-folder.ts";
import { changesInside, readGuestFile, readHostFile } from "./read-sides.ts";
import type { SkippedEntry, WorkspaceChange } from "./workspace-change.ts";
import { orUnreadable } from "./workspace-change.ts";

/** Larger files are named, not shown. */
const MAX_FILE_BYTES = 256 * 1024;
const MAX_TOTAL_BYTES = 8 * 1024 * 1024;

export interface PatchSources {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly texts: Texts;
  readonly signal: AbortSignal;
}

/** Adds the text of what changed, up to a bound for each file and for all. */
export async function addPatches(
  sources: PatchSources,
  changes: readonly WorkspaceChange[],
): Promise<readonly (WorkspaceChange | SkippedEntry)[]> {
  let left = MAX_TOTAL_BYTES;
  const shown: (WorkspaceChange | SkippedEntry)[] = [];
  for (const change of changes) {
    const bytes = fileBytes(change.host) + fileBytes(change.guest);
    const isShown = hasContent(change) && bytes <= Math.min(left, 2 * MAX_FILE_BYTES);
    if (isShown) left -= bytes;
    shown.push(isShown ? await orUnreadable(change.key, () => addPatch(sources, change)) : change);
  }
  return shown;
}

function hasContent(change: WorkspaceChange): boolean {
  return change.kind !== "mode_changed" && [change.host, change.guest].some((entry) => entry?.type === "file");
}

function fileBytes(entry: Entry | undefined): number {
  return entry?.type === "file" ? entry.size : 0;
}

async function addPatch(sources: PatchSources, change: WorkspaceChange): Promise<WorkspaceChange> {
  const [before, inside] = await Promise.all([readHostFile(sources, change), readGuestFile(sources, change)]);
  const sha256 = change.guest?.type === "file" ? { sha256: hashOf(inside) } : {};
  if (change.sha256 !== undefined && change.sha256 !== sha256.sha256) throw changesInside(change);
  const after = change.merged ?? inside;
  if (!isText(before) || !isText(after)) return { ...change, ...sha256, isBinary: true };
  const name = showPath(fromKey(change.key));
  const call = { owner: sources.sandbox.id, signal: sources.signal };
  const patch = await diffSides(sources.texts, { from: `a/${name}`, to: `b/${name}`, before, after }, call);
  return { ...change, ...sha256, ...(patch !== undefined && patch !== "" && { patch }) };
}
