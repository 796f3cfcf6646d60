import { cutAtLine } from "../../catalog/result.ts";
import type { DiffRequest, TextDiff } from "../../text/text-diff.ts";
import { SHOWN_BYTES } from "../max-bytes.ts";

/** The fields of a result that show a change. */
export interface ShownDiff {
  /** Unified; empty when nothing changed or there is none to show. */
  readonly diff: string;
  /** The diff is cut at a line, or left out. */
  readonly truncated: boolean;
}

const NOTHING = Buffer.alloc(0);

/** How a file changes; `undefined` stands for no file. */
export function diffRequest(path: string, before: Buffer | undefined, after: Buffer | undefined): DiffRequest {
  const [from, to] = [before ? `a${path}` : "/dev/null", after ? `b${path}` : "/dev/null"];
  return { from, to, before: before ?? NOTHING, after: after ?? NOTHING };
}

/** A model is not shown a diff that says no more than the file does. */
export function showDiff({ diff, isWhole }: TextDiff): ShownDiff {
  if (diff === undefined || isWhole) return { diff: "", truncated: true };
  const cut = cutAtLine(diff, SHOWN_BYTES);
  return { diff: cut, truncated: cut.length < diff.length };
}

/** As the model reads it, below a heading. */
export function diffText(change: TextDiff): string {
  const { diff, truncated } = showDiff(change);
  const missing = `[The change is too large to show, or is no text: ${change.changedBytes} bytes; read the file]`;
  const note = diff === "" ? missing : "[The diff is cut here]";
  return [...(diff === "" ? [] : [diff.trimEnd()]), ...(truncated ? [note] : [])].map((part) => `\n${part}`).join("");
}
