import { showByteText } from "../byte-text.ts";
import type { FilePatch, Hunk } from "./file-patch.ts";
import { invalidPatch } from "./file-patch.ts";
import { readHunk } from "./read-hunk.ts";

const NO_FILE = "/dev/null";

interface Draft {
  /** Line of its start, for messages. */
  readonly line: number;
  oldPath?: string;
  newPath?: string;
  hasHeader: boolean;
  renameFrom?: string;
  renameTo?: string;
  mode?: number;
  isNew: boolean;
  isDeleted: boolean;
  readonly hunks: Hunk[];
}

/** Parses the output of `diff -u` and `git diff`. Text around files and hunks, such as a commit message, is ignored. */
export function parseUnifiedPatch(lines: readonly string[]): readonly FilePatch[] {
  const drafts: Draft[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const current = drafts.at(-1);
    if (line.startsWith("diff --git ")) {
      drafts.push({ ...newDraft(at + 1), ...gitPaths(line) });
      at += 1;
    } else if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) {
      const draft = current && !current.hasHeader && current.hunks.length === 0 ? current : newDraft(at + 1);
      if (draft !== current) drafts.push(draft);
      Object.assign(draft, { oldPath: headerPath(line), newPath: headerPath(lines[at + 1] ?? ""), hasHeader: true });
      at += 2;
    } else if (line.startsWith("@@")) {
      if (!current?.hasHeader) throw invalidPatch(at + 1, 'starts a hunk of no file: "--- a/PATH" and "+++ b/PATH" are missing before it');
      const { hunk, next } = readHunk(lines, at);
      current.hunks.push(hunk);
      at = next;
    } else {
      if (current && current.hunks.length === 0) readGitLine(line, current, at + 1);
      at += 1;
    }
  }
  if (drafts.length === 0) throw invalidPatch(1, 'starts no patch: there is no "--- a/PATH" with "+++ b/PATH", and no "*** Begin Patch"');
  return drafts.map(toFilePatch);
}

function newDraft(line: number): Draft {
  return { line, hasHeader: false, isNew: false, isDeleted: false, hunks: [] };
}

/** The path ends at a tab, which a date may follow. */
function headerPath(line: string): string {
  const rest = line.slice(4).replace(/\r$/, "");
  return rest.startsWith('"') ? parseQuoted(rest) : showByteText(rest.split("\t")[0] ?? "").trimEnd();
}

/** Reads both paths if they are equal, for a file without hunks. If the names differ, other lines of the patch hold them. */
function gitPaths(line: string): Pick<Draft, "oldPath" | "newPath"> {
  const rest = showByteText(line.slice("diff --git ".length)).trimEnd();
  const middle = (rest.length - 1) / 2;
  const [from, to] = [rest.slice(0, middle), rest.slice(middle + 1)];
  return rest[middle] === " " && from.startsWith("a/") && to === `b/${from.slice(2)}` ? { oldPath: from, newPath: to } : {};
}

function readGitLine(line: string, draft: Draft, number: number): void {
  const [, word, value = ""] = /^(rename from|rename to|new file mode|deleted file mode|new mode) (.+?)\r?$/.exec(line) ?? [];
  const path = value.startsWith('"') ? parseQuoted(value) : showByteText(value);
  if (word === "rename from") draft.renameFrom = path;
  if (word === "rename to") draft.renameTo = path;
  if (word === "new file mode" || word === "new mode") draft.mode = toMode(value, number);
  if (word === "new file mode") draft.isNew = true;
  if (word === "deleted file mode") draft.isDeleted = true;
  if (/^(GIT binary patch|Binary files .* differ|copy from )/.test(line)) {
    throw invalidPatch(number, "changes binary content or copies a file, which apply_patch does not do; use git apply with run_command");
  }
}

function toMode(digits: string, number: number): number {
  if (/^100[0-7]{3}$/.test(digits)) return Number.parseInt(digits.slice(3), 8);
  throw invalidPatch(number, `makes something that is no ordinary file (mode ${digits}); use git apply with run_command`);
}

function toFilePatch(draft: Draft): FilePatch {
  const { hunks, mode } = draft;
  const { from, to } = namesOf(draft);
  if (from === undefined && to === undefined) throw invalidPatch(draft.line, "starts a file that has no path");
  if (from === undefined) return { kind: "add", path: to ?? "", text: addedText(draft), ...(mode !== undefined && { mode }) };
  if (to === undefined) return { kind: "delete", path: from, hunks };
  if (hunks.length === 0 && from === to && mode === undefined) throw invalidPatch(draft.line, `starts "${from}" and changes nothing`);
  return { kind: "update", path: from, hunks, ...(to !== from && { moveTo: to }), ...(mode !== undefined && { mode }) };
}

/** A name is undefined if there is no file on that side. */
function namesOf(draft: Draft): { readonly from: string | undefined; readonly to: string | undefined } {
  const { oldPath, newPath, renameFrom, renameTo, isNew, isDeleted } = draft;
  const isPrefixed = [oldPath, newPath].every(
    (path, side) => path === undefined || path === NO_FILE || path.startsWith(side === 0 ? "a/" : "b/"),
  );
  const name = (path: string | undefined): string | undefined => {
    if (path === undefined || path === NO_FILE) return undefined;
    return isPrefixed ? path.slice(2) : path;
  };
  return { from: renameFrom ?? (isNew ? undefined : name(oldPath)), to: renameTo ?? (isDeleted ? undefined : name(newPath)) };
}

function addedText({ hunks, line }: Draft): string {
  if (hunks.some(({ lines }) => lines.some(({ kind }) => kind !== "+")))
    throw invalidPatch(line, "starts a new file whose hunk has old lines");
  const lines = hunks.flatMap((hunk) => hunk.lines.map(({ text }) => text));
  return lines.join("\n") + (lines.length === 0 || hunks.at(-1)?.newIsOpen ? "" : "\n");
}

const ESCAPES: Readonly<Record<string, string>> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

/** Four characters for each byte of the longest possible path. */
const QUOTED_MAX = 16_384;

/** Decodes a path that git has quoted, such as `"a/\303\251\t"`. Octal digits stand for bytes. A text longer than any path is cut. */
function parseQuoted(text: string): string {
  const [, body = ""] = /^"((?:[^"\\]|\\.)*)"/s.exec(text.slice(0, QUOTED_MAX)) ?? [];
  const bytes = body.replace(/\\([0-7]{3}|.)/gs, (_match, escape: string) =>
    /^[0-7]{3}$/.test(escape) ? String.fromCharCode(Number.parseInt(escape, 8) & 0xff) : (ESCAPES[escape] ?? escape),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}
