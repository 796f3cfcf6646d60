import type { ToolContext } from "../catalog/tool.ts";

/** How many rows of a list are collected for each that a model is shown. */
const HELD_FACTOR = 20;

export interface RowBounds {
  /** Rows that a model is shown, and bytes of their text. */
  readonly rows: number;
  readonly bytes: number;
}

/** What is collected before a list is given up: more than is shown, so that a model can read on. */
export function heldRows({ rows, bytes }: RowBounds): RowBounds {
  return { rows: rows * HELD_FACTOR, bytes: bytes * HELD_FACTOR };
}

/** The first rows that fit in the bounds, by the bytes of their text. */
export function fitRows<Row>(rows: readonly Row[], bounds: RowBounds, textOf: (row: Row) => string): readonly Row[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += Buffer.byteLength(textOf(row)) + 1;
    return index >= bounds.rows || bytes > bounds.bytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

export interface FoundLines {
  /** All that were found, as text. */
  readonly lines: readonly string[];
  /** How many of them are shown. */
  readonly shown: number;
  /** There may be more that nobody looked for. */
  readonly isFull: boolean;
}

export interface FoundRows {
  readonly found: number;
  /** How many of them are shown. */
  readonly shown: number;
  /** There may be more that nobody looked for. */
  readonly isFull: boolean;
}

/** Above the rows: how many were found, and whether these are the first ones. The words are for one row and for another number of them. */
export function describeCount({ found, shown, isFull }: FoundRows, words: readonly [one: string, others: string]): string {
  const count = `${isFull ? "At least " : ""}${found} ${words[found === 1 ? 0 : 1]}`;
  return shown < found ? `${count}; the first ${shown}:` : count;
}

/** Below the lines that are shown: where a model reads on, when more were found. `advice` is for what was not looked for. */
export function describeRest(
  { results }: Pick<ToolContext, "results">,
  { lines, shown, isFull }: FoundLines,
  advice: string,
): readonly string[] {
  const left = lines.length - shown;
  if (left <= 0) return isFull ? [`[There are more; ${advice}]`] : [];
  const offset = lines.slice(0, shown).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  const uri = `${results.keep(`${lines.join("\n")}\n`)}?offset=${offset}`;
  const place = `read on with read_result ${JSON.stringify({ uri })}`;
  return [isFull ? `[${left} more lines: ${place}. There are still more; ${advice}]` : `[${left} more lines: ${place}]`];
}
