import type { Line, Walked } from "./walk.ts";
import { RANKS } from "./walk.ts";

export interface RenderWish {
  /** Of the text, without its last line. */
  readonly maxBytes: number;
  /** How many lines, in the order in which they are read, were shown before. */
  readonly offset: number;
  /** The reference of the part that is read, if it is not the whole page. */
  readonly part?: string | undefined;
}

export interface Rendered {
  readonly text: string;
  /** Elements of this part with a document of their own, in its order. */
  readonly frames: readonly string[];
}

const TITLES = ["", "# out of view, can be acted on:", "# headings out of view:", "# other out of view:"] as const;
/** Deeper levels are shown at this one: what a hostile page nests is no reason for a line of blanks. */
const INDENT_MAX = 12;

/**
 * The tree as it stands, if it is short enough; else what is in view, then what can be acted on, then headings, then the rest. The last line
 * says what was left out and how to read on.
 */
export function render({ lines, isCut }: Walked, { maxBytes, offset, part }: RenderWish): Rendered {
  const isWhole = offset === 0 && bytesOf(lines) <= maxBytes;
  const ordered = isWhole ? lines : RANKS.flatMap((_, rank) => lines.filter((line) => line.rank === rank));
  const out: string[] = [];
  let [bytes, shown] = [0, offset];
  for (; shown < ordered.length; shown += 1) {
    const line = ordered[shown] as Line;
    const title = !isWhole && line.rank > 0 && line.rank !== ordered[shown - 1]?.rank ? `${TITLES[line.rank]}\n` : "";
    const text = `${title}${"  ".repeat(isWhole || line.rank === 0 ? Math.min(line.depth, INDENT_MAX) : 0)}${line.text}`;
    if (bytes + utf8(text) + 1 > maxBytes && shown > offset) break;
    out.push(text);
    bytes += utf8(text) + 1;
  }
  const left = ordered.slice(shown);
  if (left.length > 0)
    out.push(
      `[${left.length} more lines: ${tellLeft(left)}. Read on: browser_snapshot with ${part === undefined ? "" : `ref ${part} and `}offset ${shown}]`,
    );
  if (isCut) out.push("[The page is larger than what is looked at: take a part of it by ref or selector]");
  return { text: out.join("\n"), frames: ordered.slice(offset, shown).flatMap(({ frame }) => frame ?? []) };
}

function tellLeft(left: readonly Line[]): string {
  const counts = RANKS.map((title, rank) => ({ title, count: left.filter((line) => line.rank === rank).length }));
  return counts
    .filter(({ count }) => count > 0)
    .map(({ title, count }) => `${count} ${title}`)
    .join(", ");
}

function bytesOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { text, depth }) => sum + utf8(text) + 2 * Math.min(depth, INDENT_MAX) + 1, 0);
}

const ENCODER = new TextEncoder();

function utf8(text: string): number {
  return ENCODER.encode(text).length;
}
