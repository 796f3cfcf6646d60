import { printableText } from "../../files/printable.ts";
import type { WorkspaceChange, WorkspaceDiff } from "./workspace-change.ts";

const LETTERS = { added: "A", modified: "M", removed: "D", type_changed: "T", mode_changed: "m" } as const satisfies Record<
  WorkspaceChange["kind"],
  string
>;

/** For a terminal: names, then patches. What a sandbox wrote cannot steer the terminal. */
export function renderDiff(diff: WorkspaceDiff): string {
  const names = diff.changes.map((change) => `${LETTERS[change.kind]} ${change.path}${describe(change)}\n`);
  const skipped = diff.skipped.map(({ path, reason }) => `! ${path}: left out, ${reason}\n`);
  const patches = diff.changes.flatMap(({ patch }) => (patch === undefined ? [] : ["\n", printableText(patch)]));
  return [...names, ...skipped, ...patches].join("");
}

/** Plain JSON, for `--json`. */
export function toDiffReport(diff: WorkspaceDiff): unknown {
  return {
    sandbox: diff.sandboxId,
    workspace: diff.hostPath,
    changes: diff.changes.map(({ kind, path, patch, isBinary, guest, host }) => ({
      kind,
      path,
      type: (guest ?? host)?.type,
      size: guest?.size,
      mode: guest?.mode,
      binary: isBinary,
      patch,
    })),
    skipped: diff.skipped,
  };
}

function describe({ kind, guest, host, isBinary, patch }: WorkspaceChange): string {
  if (kind === "mode_changed") return ` (${host.mode.toString(8)} -> ${guest.mode.toString(8)})`;
  if (kind === "type_changed") return ` (${host.type} -> ${guest.type})`;
  if (guest?.type === "directory") return "/";
  const entry = guest ?? host;
  if (isBinary) return ` (binary, ${entry.size} bytes)`;
  return patch === undefined && entry.type === "file" && entry.size > 0 ? ` (too large to show: ${entry.size} bytes)` : "";
}
