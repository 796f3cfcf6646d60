import { showByteText } from "../byte-text.ts";
import type { FilePatch, Hunk, HunkLine } from "./file-patch.ts";
import { invalidPatch } from "./file-patch.ts";

const FILE_HEADER = /^\*\*\* (Add|Delete|Update) File: (.+)$/;
const MOVE = /^\*\*\* Move to: (.+)$/;
const END_OF_FILE = "*** End of File";
const END = "*** End Patch";
const NUMBERED = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/;

/** `begin` is the line of `*** Begin Patch`. */
export function parseCodexPatch(lines: readonly string[], begin: number): readonly FilePatch[] {
  return new CodexParser(lines, begin + 1).parse();
}

class CodexParser {
  readonly #lines: readonly string[];
  #at: number;

  constructor(lines: readonly string[], at: number) {
    this.#lines = lines;
    this.#at = at;
  }

  parse(): readonly FilePatch[] {
    const patches: FilePatch[] = [];
    while (this.#peek()?.trimEnd() !== END) {
      if (this.#peek() === undefined) throw invalidPatch(this.#lines.length, `is the last, and "${END}" is missing: is the patch cut off?`);
      if (this.#peek()?.trim() === "") this.#at += 1;
      else patches.push(this.#file());
    }
    if (patches.length === 0) throw invalidPatch(this.#at + 1, "ends the patch before any file");
    return patches;
  }

  #peek(): string | undefined {
    return this.#lines[this.#at];
  }

  #file(): FilePatch {
    const [, verb, rawPath = ""] = FILE_HEADER.exec(this.#peek()?.trimEnd() ?? "") ?? [];
    if (verb === undefined) throw this.#unexpected('"*** Add File: ", "*** Update File: " or "*** Delete File: " and a path');
    this.#at += 1;
    const path = showByteText(rawPath.trim());
    if (verb === "Add") return { kind: "add", path, text: this.#addedText() };
    if (verb === "Delete") return { kind: "delete", path, hunks: [] };
    return this.#update(path);
  }

  #addedText(): string {
    let text = "";
    for (let line = this.#peek(); line?.startsWith("+"); line = this.#peek()) {
      text += `${line.slice(1)}\n`;
      this.#at += 1;
    }
    return text;
  }

  #update(path: string): FilePatch {
    const [, moveTo] = MOVE.exec(this.#peek()?.trimEnd() ?? "") ?? [];
    if (moveTo !== undefined) this.#at += 1;
    const hunks: Hunk[] = [];
    while (this.#peek() !== undefined && !this.#startsFileOrEnd()) hunks.push(this.#hunk());
    if (hunks.length === 0 && moveTo === undefined) throw invalidPatch(this.#at + 1, `ends the update of "${path}" before any change`);
    return { kind: "update", path, hunks, ...(moveTo !== undefined && { moveTo: showByteText(moveTo.trim()) }) };
  }

  #startsFileOrEnd(): boolean {
    const line = this.#peek()?.trimEnd() ?? "";
    return FILE_HEADER.test(line) || line === END;
  }

  #hunk(): Hunk {
    const first = this.#at;
    const anchors: string[] = [];
    let at: number | undefined;
    for (let line = this.#peek(); line?.startsWith("@@"); line = this.#peek()) {
      const numbered = NUMBERED.exec(line);
      if (numbered) at = Number(numbered[1]);
      else if (line.slice(2).trim() !== "") anchors.push(line.slice(2).trim());
      this.#at += 1;
    }
    const lines = this.#hunkLines();
    if (lines.length === 0) throw this.#unexpected('a line that starts with " ", "-", "+" or "@@"');
    const endsFile = this.#peek()?.trimEnd() === END_OF_FILE;
    if (endsFile) this.#at += 1;
    const title = showByteText(this.#lines[first] ?? "").slice(0, 100);
    return { title, lines, anchors, endsFile, oldIsOpen: false, newIsOpen: false, ...(at !== undefined && { at }) };
  }

  /** An empty line stands for an empty line of the file. Empty lines before the next header are only layout, and are ignored. */
  #hunkLines(): readonly HunkLine[] {
    const lines: HunkLine[] = [];
    let trailing = 0;
    for (let line = this.#peek(); line !== undefined; line = this.#peek()) {
      const kind = line[0] ?? " ";
      if (kind !== " " && kind !== "-" && kind !== "+") break;
      lines.push({ kind, text: line.slice(1) });
      trailing = line === "" ? trailing + 1 : 0;
      this.#at += 1;
    }
    return lines.slice(0, lines.length - trailing);
  }

  #unexpected(wanted: string): Error {
    return invalidPatch(this.#at + 1, `should be ${wanted}, and is ${JSON.stringify(showByteText(this.#peek() ?? "").slice(0, 100))}`);
  }
}
