import { printable, printableText } from "../../files/printable.ts";
import type { WorkspaceChange, WorkspaceDiff } from "./workspace-change.ts";

const LETTERS = { added: "A", modified: "M", removed: "D", type_changed: "T", mode_changed: "m" } as const satisfies Record<
  WorkspaceChange["kind"],
  string
>;

/** For a terminal: names, then patches. What a sandbox wrote cannot steer the terminal. */
export function renderDiff(diff: WorkspaceDiff): string {
  const names = diff.changes.map((change) => `${nameChange(change)}\n`);
  const conflicts = diff.conflicts.map(({ change, reason }) => `C ${change.path}: ${reason}\n`);
  const held = diff.held.map(({ change, reason }) => `! ${change.path}: left out unless it is named, ${reason}\n`);
  const skipped = diff.skipped.map(({ path, reason }) => `! ${path}: left out, ${reason}\n`);
  const commits = diff.commits === 0 ? [] : [`+ ${diff.commits} commit(s): apply brings them to the branch belljar/${diff.sandboxId}\n`];
  const ignored = diff.ignored === 0 ? [] : [`! ${diff.ignored} ignored by git: left out unless they are named, or with --ignored\n`];
  return [...commits, ...names, ...conflicts, ...held, ...ignored, ...skipped, ...renderPatches(diff)].join("");
}

function nameChange(change: WorkspaceChange): string {
  return `${LETTERS[change.kind]} ${change.path}${describe(change)}${change.merged ? " (merged with the changes outside)" : ""}`;
}

function renderPatches({ changes, conflicts, held }: WorkspaceDiff): readonly string[] {
  const marked = [...conflicts.map((one) => ({ ...one, what: "conflict" })), ...held.map((one) => ({ ...one, what: "left out" }))];
  return [
    ...changes.flatMap(({ patch }) => (patch === undefined ? [] : ["\n", printableText(patch)])),
    ...marked.flatMap(({ change, what }) =>
      change.patch === undefined ? [] : [`\n# ${what}: ${printable(change.path)}\n`, printableText(change.patch)],
    ),
  ];
}

/** Plain JSON, for `--json`. */
export function toDiffReport(diff: WorkspaceDiff): unknown {
  return {
    sandbox: diff.sandboxId,
    workspace: diff.hostPath,
    changes: diff.changes.map(toReport),
    conflicts: diff.conflicts.map(({ change, reason }) => ({ ...toReport(change), reason })),
    held: diff.held.map(({ change, reason }) => ({ ...toReport(change), reason })),
    ignored: diff.ignored,
    commits: diff.commits,
    skipped: diff.skipped,
  };
}

function toReport({ kind, path, patch, isBinary, merged, guest, host }: WorkspaceChange): object {
  return {
    kind,
    path,
    type: (guest ?? host)?.type,
    size: guest?.size,
    mode: guest?.mode,
    binary: isBinary,
    merged: merged && true,
    patch,
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
