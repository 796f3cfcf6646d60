import { stat } from "node:fs/promises";
import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";
import type { Workspace } from "../../runtime/contract/sandbox-spec.ts";
import type { StateStore } from "../../runtime/contract/state-store.ts";
import { baseOf } from "../template-source.ts";
import { HostFolder } from "../workspace/host-folder.ts";

const LOOK_MS = 1_000;
const ENTRIES_MAX = 100_000;
const NANOSECONDS = 1_000_000n;

/** What is known of the host's files from when a state was taken. They lie below the state, and are not in it. */
export interface HostThen {
  readonly template: string;
  readonly base?: string | undefined;
  readonly workspace?: Workspace | undefined;
  readonly createdAt: Date;
  readonly workspaceMark?: string | undefined;
  /** Absent: an earlier release took the state. */
  readonly baseMark?: string | undefined;
}

const AS_NOW = "files that the sandbox had not changed are as the host has them now";

/** Which folder of the host lies at a path. Another folder in its place has another mark, and so has an empty one whose disk is not mounted. */
export async function markFolder(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.ino}-${found.birthtimeNs}`;
}

/** A sentence for each thing that neither a rollback to that state nor a fork of it has as it was. */
export async function tellLostFiles(then: HostThen, states: Pick<StateStore, "markBase">, signal: AbortSignal): Promise<readonly string[]> {
  return [...(await tellWorkspace(then, signal)), ...tellBase(then, states)];
}

function tellBase({ baseMark, ...then }: HostThen, states: Pick<StateStore, "markBase">): readonly string[] {
  if (baseMark === undefined || states.markBase(baseOf(then)) === baseMark) return [];
  return [`The host's /usr has changed since: ${AS_NOW}`];
}

async function tellWorkspace({ workspace, createdAt, workspaceMark }: HostThen, signal: AbortSignal): Promise<readonly string[]> {
  if (!workspace) return [];
  const path = printable(workspace.path);
  if (workspace.mode === "rw") return [`The workspace ${path} is a folder of the host itself (rw): its files stay as they are now`];
  const isOther = workspaceMark !== undefined && (await markFolder(workspace.path)) !== workspaceMark;
  const change = isOther ? "some" : await findChange(workspace.path, createdAt, signal);
  if (change === "none") return [];
  const below = workspace.mode === "ro" ? "the sandbox shows it as it is now" : AS_NOW;
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
