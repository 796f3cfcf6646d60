import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";
import { insidePath } from "./compare-content.ts";
import { fromKey } from "./entry.ts";
import type { HostFolder } from "./host-folder.ts";
import type { WorkspaceChange } from "./workspace-change.ts";

const NOTHING = Buffer.alloc(0);

export interface Sides {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly signal: AbortSignal;
}

/** What a change's file holds on the host; nothing for what is no file. */
export async function readHostFile({ folder }: Sides, { key, host }: Pick<WorkspaceChange, "key" | "host">): Promise<Buffer> {
  if (host?.type !== "file") return NOTHING;
  await using file = await folder.openFile(fromKey(key));
  const { buffer, bytesRead } = await file.read(Buffer.alloc(host.size), 0, host.size, 0);
  return buffer.subarray(0, bytesRead);
}

/** What it holds in the sandbox. Rejects with `WORKSPACE_CONFLICT` if that is no longer what was listed. */
export async function readGuestFile({ sandbox, signal }: Sides, change: WorkspaceChange): Promise<Buffer> {
  const guest = change.unmerged ?? change.guest;
  if (guest?.type !== "file") return NOTHING;
  const content = await sandbox.guest.files.read(insidePath(sandbox, change.key), { limit: guest.size, maxBytes: guest.size, signal });
  if (content.length === guest.size) return content;
  throw changesInside(change);
}

export function changesInside({ path }: WorkspaceChange): BelljarError {
  return new BelljarError("WORKSPACE_CONFLICT", `${path} changes in the sandbox while it is compared: stop what writes it and try again`);
}
