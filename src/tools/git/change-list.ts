import * as z from "zod";
import { showName } from "../files/file-row.ts";

const STATES = { A: "added", M: "modified", D: "deleted", R: "renamed", C: "copied", T: "type_changed", U: "unmerged" } as const;
type State = (typeof STATES)[keyof typeof STATES];

export const Change = z.object({
  path: z.string(),
  from: z.string().nullable().describe("The old name, of what was renamed or copied"),
  status: z.enum(Object.values(STATES) as [State, ...State[]]),
  added: z.number().int().nullable().describe("Lines; null for a binary file"),
  removed: z.number().int().nullable(),
});

export type FileChange = z.output<typeof Change>;

/** Of one list that is shown. */
export const FILES_MAX = 1_000;
/** Of what git prints about them; a file has up to six. */
const PARTS_MAX = 100_000;

/** Reads what `--raw --numstat -z` prints: first every file with its state, then every file with its lines. */
export function parseChanges(text: string): readonly FileChange[] {
  const parts = text.split("\0", PARTS_MAX).slice(0, -1);
  const changes = new Map<string, FileChange>();
  for (let at = 0; at < parts.length;) {
    const part = parts[at] ?? "";
    const letter = /^:\d+ \d+ \S+ \S+ ([A-Z])\d*$/.exec(part)?.[1];
    if (letter !== undefined) {
      const hasTwo = letter === "R" || letter === "C";
      const path = parts[at + (hasTwo ? 2 : 1)] ?? "";
      const status = STATES[letter as keyof typeof STATES] ?? "modified";
      changes.set(path, { path, from: hasTwo ? (parts[at + 1] ?? null) : null, status, added: null, removed: null });
      at += hasTwo ? 3 : 2;
      continue;
    }
    const [added = "", removed = ""] = part.split("\t", 2);
    const name = part.slice(added.length + removed.length + 2);
    const path = name === "" ? (parts[at + 2] ?? "") : name;
    const known = changes.get(path);
    if (known) changes.set(path, { ...known, added: toCount(added), removed: toCount(removed) });
    at += name === "" ? 3 : 1;
  }
  return [...changes.values()];
}

function toCount(digits: string): number | null {
  return /^\d+$/.test(digits) ? Number(digits) : null;
}

export function changeText({ path, from, status, added, removed }: FileChange): string {
  const lines = added === null ? "binary" : `+${added} -${removed}`;
  return `${status} ${from === null ? showName(path) : `${showName(from)} -> ${showName(path)}`} (${lines})`;
}

/** The first files, and whether there are more. */
export function changeLines(changes: readonly FileChange[]): readonly string[] {
  const more = changes.length - FILES_MAX;
  return [...changes.slice(0, FILES_MAX).map(changeText), ...(more > 0 ? [`[and ${more} more files]`] : [])];
}

export function sumLines(changes: readonly FileChange[]): { readonly insertions: number; readonly deletions: number } {
  return {
    insertions: changes.reduce((sum, { added }) => sum + (added ?? 0), 0),
    deletions: changes.reduce((sum, { removed }) => sum + (removed ?? 0), 0),
  };
}
