import * as z from "zod";
import { showName } from "../files/file-row.ts";
import type { GitFolder } from "./run-git.ts";
import { READ_ONLY, runGit } from "./run-git.ts";

const STATES = {
  ".": "unmodified",
  M: "modified",
  T: "type_changed",
  A: "added",
  D: "deleted",
  R: "renamed",
  C: "copied",
  U: "unmerged",
  "?": "untracked",
} as const;
type State = (typeof STATES)[keyof typeof STATES];
const NAMES = [...new Set(Object.values(STATES))] as [State, ...State[]];
export const ENTRIES_MAX = 1_000;
/** An entry has one or two, and the head some more. */
const RECORDS_MAX = 2 * ENTRIES_MAX + 100;

const Entry = z.object({
  path: z.string(),
  from: z.string().nullable().describe("The old name, of what was renamed or copied"),
  index: z.enum(NAMES).describe("What would be committed"),
  worktree: z.enum(NAMES).describe("What is changed beyond that"),
  conflict: z.boolean(),
});

export const STATUS_SHAPE = {
  branch: z.string().nullable().describe("null when no branch is checked out"),
  commit: z.string().nullable().describe("null before the first commit"),
  upstream: z.string().nullable(),
  ahead: z.number().int().nullable().describe("Commits that the upstream does not have"),
  behind: z.number().int().nullable(),
  clean: z.boolean(),
  entries: z.array(Entry),
  truncated: z.boolean().describe(`There are more than ${ENTRIES_MAX} entries`),
};

const Status = z.object(STATUS_SHAPE);
export type RepositoryStatus = z.output<typeof Status>;
type StatusEntry = z.output<typeof Entry>;

export async function readStatus(place: GitFolder): Promise<RepositoryStatus> {
  const args = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--find-renames"];
  const { stdout, truncated } = await runGit(place, args, READ_ONLY);
  const all = stdout.split("\0", RECORDS_MAX + 1);
  // What was cut may have cut a record: the last one is not whole.
  return parseStatus(all.slice(0, -1), truncated || all.length > RECORDS_MAX);
}

function parseStatus(records: readonly string[], isCut: boolean): RepositoryStatus {
  const head = new Map<string, string>();
  const entries: StatusEntry[] = [];
  for (let at = 0; at < records.length; at += 1) {
    const record = records[at] ?? "";
    const [kind] = record;
    if (kind === "#") head.set(...parseHead(record));
    else if (kind === "2") entries.push(parseEntry(record, records[(at += 1)] ?? ""));
    else if (kind !== undefined) entries.push(parseEntry(record, null));
  }
  const [branch, commit] = [head.get("branch.head"), head.get("branch.oid")];
  const counts = /^\+(\d+) -(\d+)$/.exec(head.get("branch.ab") ?? "");
  return {
    branch: branch === undefined || branch === "(detached)" ? null : branch,
    commit: commit === undefined || commit === "(initial)" ? null : commit,
    upstream: head.get("branch.upstream") ?? null,
    ahead: counts ? Number(counts[1]) : null,
    behind: counts ? Number(counts[2]) : null,
    clean: entries.length === 0 && !isCut,
    entries: entries.slice(0, ENTRIES_MAX),
    truncated: isCut || entries.length > ENTRIES_MAX,
  };
}

function parseHead(record: string): [string, string] {
  const [mark = "", name = ""] = record.split(" ", 2);
  return [name, record.slice(mark.length + name.length + 2)];
}

/** Columns before the path: 8 of a change, 9 of a rename, 10 of a conflict, 1 of what is untracked. */
const COLUMNS: Readonly<Record<string, number>> = { "1": 8, "2": 9, u: 10, "?": 1 };

function parseEntry(record: string, from: string | null): StatusEntry {
  const kind = record[0] ?? "";
  const columns = COLUMNS[kind] ?? 1;
  const parts = record.split(" ", columns);
  const [x = "?", y = "?"] = kind === "?" ? "??" : (parts[1] ?? "??");
  return { path: record.slice(parts.join(" ").length + 1), from, index: toState(x), worktree: toState(y), conflict: kind === "u" };
}

function toState(letter: string): State {
  return STATES[letter as keyof typeof STATES] ?? "modified";
}

export function statusText(status: RepositoryStatus): string {
  const { branch, commit, upstream, ahead, behind, entries } = status;
  const where =
    branch === null ? `No branch, at ${commit}` : `On branch ${branch}${commit === null ? ", no commits yet" : ` at ${commit}`}`;
  const tracking = upstream === null ? [] : [`Upstream ${upstream}${ahead === null ? " (gone)" : `: ${ahead} ahead, ${behind} behind`}`];
  const rows = entries.map(entryText);
  const cut = status.truncated
    ? [`[Cut: ${entries.length} entries are shown, there are more; see a part with run_command, as: git status --short -- FOLDER]`]
    : [];
  return [where, ...tracking, ...(rows.length > 0 ? rows : ["Nothing to commit, working tree clean"]), ...cut].join("\n");
}

function entryText({ path, from, index, worktree, conflict }: StatusEntry): string {
  const what = conflict
    ? `conflict (${index} / ${worktree})`
    : index === "untracked"
      ? "untracked"
      : `index ${index}, worktree ${worktree}`;
  return `${what}: ${from === null ? showName(path) : `${showName(from)} -> ${showName(path)}`}`;
}
