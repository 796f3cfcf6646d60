import type { Sandbox } from "../../sandbox/sandbox.ts";
import { folderOf } from "./background-processes.ts";
import type { OutputSlice } from "./background-output.ts";
import { readOutput } from "./background-output.ts";
import { watchUntil } from "./watch-until.ts";

const PART_BYTES = 262_144;
/** A line that is longer counts as several. */
export const LINE_MAX = 65_536;
/** After so long it begins to watch anew. */
const WATCH_MS = 3_600_000;

export interface LogOptions {
  readonly id: string;
  /** Goes on until the process has ended. */
  readonly follow: boolean;
  /** Begins with so many of the last lines. Absent: with all that is kept. */
  readonly lines?: number | undefined;
  readonly signal: AbortSignal;
}

/** The kept output of a background process, part by part. What goes while it is read is left out. */
export async function* readLog(sandbox: Sandbox, { id, follow, lines, signal }: LogOptions): AsyncGenerator<string> {
  const read = (offset: number, most = PART_BYTES) => readOutput(sandbox, { id, offset, maxBytes: Math.min(most, PART_BYTES), signal });
  let slice = await read(0);
  // A process may write faster than it is read: what comes from now on is for `follow`.
  const end = slice.total;
  let text = slice.text;
  while (slice.nextOffset < end && slice.text !== "") {
    if (lines === undefined) yield text;
    slice = await read(slice.nextOffset, end - slice.nextOffset);
    text = lines === undefined ? slice.text : lastLines(text + slice.text, lines);
  }
  yield lines === undefined ? text : lastLines(text, lines);
  while (follow && !isOver(slice)) {
    const at = slice.nextOffset;
    slice = await watchUntil(sandbox, { folder: folderOf(id), timeoutMs: WATCH_MS, signal }, async () => {
      const value = await read(at);
      return { value, isDone: value.text !== "" || isOver(value) };
    });
    yield slice.text;
  }
}

function isOver({ process, nextOffset, total, text }: OutputSlice): boolean {
  return process.state !== "running" && (nextOffset >= total || text === "");
}

function lastLines(text: string, count: number): string {
  let [start, end] = [text.length, text.endsWith("\n") ? text.length - 1 : text.length];
  for (let left = count; left > 0 && end >= 0; left -= 1) {
    const lineStart = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    start = Math.max(lineStart, end - LINE_MAX);
    end = start > lineStart ? start : lineStart - 1;
  }
  return text.slice(start);
}
