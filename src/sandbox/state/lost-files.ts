import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";
import type { Workspace } from "../../runtime/runtime.ts";
import { HostFolder } from "../workspace/host-folder.ts";

const LOOK_MS = 1_000;
const ENTRIES_MAX = 100_000;
const NANOSECONDS = 1_000_000n;

/** A sentence for each thing that no rollback to a state of that time brings back. */
export async function tellLostFiles(workspace: Workspace | undefined, at: Date, signal: AbortSignal): Promise<readonly string[]> {
  if (!workspace) return [];
  const path = printable(workspace.path);
  if (workspace.mode === "rw") return [`The workspace ${path} is a folder of the host itself (rw): its files stay as they are now`];
  const change = await findChange(workspace.path, at, signal);
  if (change === "none") return [];
  const below =
    workspace.mode === "ro" ? "the sandbox shows it as it is now" : "files that the sandbox had not changed are as the host has them now";
  return [
    change === "some"
      ? `The workspace ${path} has changed on the host since: ${below}`
      : `Whether the workspace ${path} has changed on the host since is not known: ${below}`,
  ];
}

/** Each change of an entry, and each that comes or goes in a folder, sets a later `ctime`. */
async function findChange(path: string, at: Date, outer: AbortSignal): Promise<"none" | "some" | "unknown"> {
  using look = limitTime(outer, LOOK_MS);
  const sinceNs = BigInt(at.getTime()) * NANOSECONDS;
  const folder = new HostFolder(path);
  let isChanged = false;
  const isLater = ({ ctimeNs }: { readonly ctimeNs: bigint }): boolean => ctimeNs > sinceNs;
  try {
    const root = await folder.stat(Buffer.alloc(0));
    if (!root || isLater(root)) return "some";
    // What has changed is found once, and nothing below it is entered.
    await folder.walk({ maxEntries: ENTRIES_MAX, signal: look.signal, skip: (_key, entry) => isChanged || (isChanged = isLater(entry)) });
    return isChanged ? "some" : "none";
  } catch (cause) {
    if (outer.aborted) throw cause;
    if (isChanged) return "some";
    if (cause instanceof BelljarError || look.signal.aborted) return "unknown";
    throw cause;
  }
}
