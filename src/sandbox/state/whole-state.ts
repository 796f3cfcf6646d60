import type { Sandbox } from "../sandbox.ts";
import { BelljarError } from "../../errors.ts";
import { type FolderOf, shownFolder } from "../shown-folder.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { carryFolder } from "./carry-folder.ts";
import type { SnapshotRecord } from "./snapshot-record.ts";

/** Of the sandboxes that are made for it, should this process die. */
export const WHOLE_OPTIONS = { network: "none", timeoutMs: 15 * 60_000, onDeadline: "kill", bestEffort: true } as const;

/** Makes a sandbox that begins with a state. */
export type MakeFrom = (source: SnapshotRecord) => Promise<Sandbox>;

/** The same state without its folder of the host, whose files are its own. */
export function withOwnFolder(source: SnapshotRecord): SnapshotRecord {
  const { workspace, workspaceMark: _mark, ...rest } = source;
  return workspace ? { ...rest, tookIn: workspace.path } : source;
}

/** Throws `ARGUMENTS_INVALID` for a sandbox that shows no folder of the host. */
export function assertShowsFolder({ id, workspace, ...more }: Pick<SandboxRecord, "id"> & FolderOf): void {
  if (workspace) return;
  const why = shownFolder(more) ? "has the files of its folder already" : "shows no folder of the host";
  throw new BelljarError("ARGUMENTS_INVALID", `Sandbox ${id} ${why}: take a snapshot of it without \`whole\``);
}

/**
 * Two sandboxes begin with the state: one that shows the folder, and one in which the same place is its own. What the first one shows is
 * copied into the second one, and `freeze` keeps that one's files. Both end, whatever happens.
 */
export async function freezeWhole<Kept>(
  source: SnapshotRecord,
  { make, signal }: { readonly make: MakeFrom; readonly signal: AbortSignal },
  freeze: (own: Sandbox) => Promise<Kept>,
): Promise<Kept> {
  const shows = await make(source);
  try {
    const own = await make(withOwnFolder(source));
    try {
      await carryFolder({ from: shows.guest, to: own.guest, path: source.inside.workspace, signal });
      return await freeze(own);
    } finally {
      await own.kill();
    }
  } finally {
    await shows.kill();
  }
}
