import { createTwoFilesPatch } from "diff";
import { cutAtLine } from "../../catalog/result.ts";

const DIFF_MAX_BYTES = 32_768;
/** Beyond these, finding the least diff takes long and the diff helps nobody. */
const MAX_EDITS = 2_000;
const TIMEOUT_MS = 200;

export interface ShownDiff {
  /** Unified; empty when nothing changed or there is none to show. */
  readonly diff: string;
  /** The diff is cut at a line, or left out. */
  readonly truncated: boolean;
}

/** How a file changed; `undefined` stands for no file. */
export function showDiff(path: string, before: Buffer | undefined, after: Buffer | undefined): ShownDiff {
  if (before && after && before.equals(after)) return { diff: "", truncated: false };
  if (before?.includes(0) || after?.includes(0)) return { diff: "", truncated: true };
  const [from, to] = [before ? `a${path}` : "/dev/null", after ? `b${path}` : "/dev/null"];
  const patch = createTwoFilesPatch(from, to, before?.toString("utf8") ?? "", after?.toString("utf8") ?? "", undefined, undefined, {
    context: 3,
    maxEditLength: MAX_EDITS,
    timeout: TIMEOUT_MS,
  });
  if (patch === undefined) return { diff: "", truncated: true };
  const diff = patch.replace(/^=+\n/, "");
  const cut = cutAtLine(diff, DIFF_MAX_BYTES);
  return { diff: cut, truncated: cut.length < diff.length };
}

/** As the model reads it, below a heading. */
export function diffText({ diff, truncated }: ShownDiff): string {
  const note = diff === "" ? "[The change is too large to show]" : "[The diff is cut here]";
  return [...(diff === "" ? [] : [diff.trimEnd()]), ...(truncated ? [note] : [])].map((part) => `\n${part}`).join("");
}
