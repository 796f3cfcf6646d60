import type { WorkspaceChange } from "../../sandbox/workspace/workspace-change.ts";

/** What a change is, where no patch shows it. Empty for what its letter says already. */
export function describeChange({ kind, guest, host, isBinary, patch }: WorkspaceChange): string {
  if (kind === "mode_changed") return `${host.mode.toString(8)} -> ${guest.mode.toString(8)}`;
  if (kind === "type_changed") return `${host.type} -> ${guest.type}`;
  const entry = guest ?? host;
  if (entry.type !== "file") return entry.type === "directory" ? "folder" : entry.type;
  const content = describeContent({ isBinary, patch, size: entry.size });
  const mode = kind === "modified" && host.mode !== guest.mode ? `mode ${host.mode.toString(8)} -> ${guest.mode.toString(8)}` : "";
  return [content, mode].filter((part) => part !== "").join(", ");
}

function describeContent({ isBinary, patch, size }: Pick<WorkspaceChange, "isBinary" | "patch"> & { readonly size: number }): string {
  if (isBinary) return `binary, ${size} bytes`;
  return patch === undefined && size > 0 ? `too large to show: ${size} bytes` : "";
}
