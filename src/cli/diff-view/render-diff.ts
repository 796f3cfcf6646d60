import { printable } from "../../files/printable.ts";
import type { WorkspaceChange, WorkspaceDiff } from "../../sandbox/workspace/workspace-change.ts";
import { describeChange } from "./describe-change.ts";
import { renderPatch } from "./render-patch.ts";
import type { View } from "./render-patch.ts";

const LETTERS = { added: "A", modified: "M", removed: "D", type_changed: "T", mode_changed: "m" } as const satisfies Record<
  WorkspaceChange["kind"],
  string
>;
const PAINTS = { added: "green", modified: "yellow", removed: "red", type_changed: "yellow", mode_changed: "yellow" } as const;

/** For a terminal: names, then patches. What a sandbox wrote cannot steer the terminal. */
export function renderDiff(diff: WorkspaceDiff, view: View): string {
  const { colours } = view;
  const names = diff.changes.map((change) => `${colours[PAINTS[change.kind]](nameChange(change))}\n`);
  return [renderCommits(diff), ...names, renderNotes(diff, view), ...renderPatches(diff, view)].join("");
}

export function renderCommits({ commits, sandboxId }: WorkspaceDiff): string {
  return commits === 0 ? "" : `+ ${commits} commit(s): apply brings them to the branch belljar/${sandboxId}\n`;
}

/** A sandbox may hold any number of entries that nobody can bring back. `--json` names all. */
const SKIPPED_SHOWN = 100;

/** What is no part of the changes, and why. */
export function renderNotes(diff: WorkspaceDiff, { colours }: View): string {
  const conflicts = diff.conflicts.map(({ change, reason }) => `C ${change.path}: ${reason}`);
  const held = diff.held.map(({ change, reason }) => `! ${change.path}: left out unless it is named, ${reason}`);
  const ignored = diff.ignored === 0 ? [] : [`! ${diff.ignored} ignored by git: left out unless they are named, or with --ignored`];
  const skipped = diff.skipped.slice(0, SKIPPED_SHOWN).map(({ path, reason }) => `! ${path}: left out, ${reason}`);
  const more = diff.skipped.length > SKIPPED_SHOWN ? [`! ${diff.skipped.length - SKIPPED_SHOWN} more left out: --json names them`] : [];
  return [...conflicts.map(colours.red), ...[...held, ...ignored, ...skipped, ...more].map(colours.dim)]
    .map((line) => `${line}\n`)
    .join("");
}

export function nameChange(change: WorkspaceChange): string {
  const entry = change.guest ?? change.host;
  const isNamed = change.kind === "added" || change.kind === "removed" || change.kind === "modified";
  const what = isNamed && entry.type !== "file" ? "" : describeChange(change);
  const suffix = isNamed && change.guest?.type === "directory" ? "/" : "";
  return `${LETTERS[change.kind]} ${change.path}${suffix}${what && ` (${what})`}${change.merged ? " (merged with the changes outside)" : ""}`;
}

function renderPatches({ changes, conflicts, held }: WorkspaceDiff, view: View): readonly string[] {
  const marked = [...conflicts.map((one) => ({ ...one, what: "conflict" })), ...held.map((one) => ({ ...one, what: "left out" }))];
  return [
    ...changes.flatMap(({ patch }) => (patch === undefined ? [] : ["\n", renderPatch(patch, view)])),
    ...marked.flatMap(({ change, what }) =>
      change.patch === undefined ? [] : [`\n# ${what}: ${printable(change.path)}\n`, renderPatch(change.patch, view)],
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
