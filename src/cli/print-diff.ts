import type { WorkspaceChange, WorkspaceDiff } from "../sandbox/workspace/workspace-change.ts";

const LETTERS = { added: "A", modified: "M", removed: "D", type_changed: "T", mode_changed: "X" } as const;

/** One line a change, then the patches. Paths and patches are shown so that they cannot steer a terminal. */
export function formatDiff({ changes, skipped }: WorkspaceDiff): string {
  const lines = changes.map(toLine);
  const patches = changes.flatMap(({ patch }) => (patch === undefined ? [] : ["", escapeControls(patch).trimEnd()]));
  const left = skipped.map(({ path, reason }) => `!  ${path}  (left out: ${reason})`);
  return [...lines, ...left, ...patches].map((line) => `${line}\n`).join("");
}

function toLine(change: WorkspaceChange): string {
  const note = change.isBinary ? "  (binary)" : change.guest?.type === "link" ? "  (link)" : "";
  const slash = (change.guest ?? change.host)?.type === "directory" ? "/" : "";
  return `${LETTERS[change.kind]}  ${change.path}${slash}${note}`;
}

/** Keeps tabs and line ends; text direction marks and escapes are written out. */
function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    character === "\n" || character === "\t" ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Names and patches for machines. */
export function toJsonDiff({ sandboxId, hostPath, changes, skipped }: WorkspaceDiff) {
  return {
    id: sandboxId,
    workspace: hostPath,
    changes: changes.map(({ kind, path, patch, isBinary, guest, host }) => ({
      kind,
      path,
      type: (guest ?? host)?.type,
      ...(isBinary && { binary: true }),
      ...(patch !== undefined && { patch }),
    })),
    skipped,
  };
}
