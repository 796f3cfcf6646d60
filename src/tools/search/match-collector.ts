import * as z from "zod";
import type { RowBounds } from "../shown-rows.ts";
import { BROKEN_MAX, copyPart, parseJson } from "./records.ts";

const LINE_MAX = 500;
/** How much of a long line is shown before the match. */
const LINE_BEFORE = 100;

export const Match = z.object({
  path: z.string(),
  line: z.number().int().describe("From 1"),
  text: z.string().describe("The line; of a long one the part around the match"),
  before: z.array(z.string()).optional().describe("Lines before it, with context"),
  after: z.array(z.string()).optional().describe("Lines after it, with context"),
});

export type Match = { -readonly [Key in keyof z.output<typeof Match>]: z.output<typeof Match>[Key] };

/** One line that `rg --json` prints about a line of a file. */
interface Line {
  readonly path: string;
  readonly text: string;
  readonly number: number;
  /** Where the first match begins, in bytes. */
  readonly start: number;
}

export interface MatchLimits {
  readonly bounds: RowBounds;
  readonly context: number;
  readonly toPath: (printed: string) => string;
}

/** Makes matches of the events that `rg --json` prints. What does not parse is left out: a program inside may print anything. */
export class MatchCollector {
  readonly matches: Match[] = [];
  /** Matches on lines that are too long to be taken. */
  dropped = 0;
  readonly #limits: MatchLimits;
  #bytes = 0;
  #before: string[] = [];
  /** Context that nobody asked for. */
  #excess = 0;

  constructor(limits: MatchLimits) {
    this.#limits = limits;
  }

  /** False: there is no room for this one, and nothing more is wanted. */
  take(record: Buffer | undefined): boolean {
    const event = record && parseEvent(record);
    if (!event) {
      this.dropped += 1;
      return this.dropped <= BROKEN_MAX;
    }
    if (event.type === "match") return this.#match(event.line);
    if (event.type === "context") return this.#context(event.line);
    this.#before = [];
    return true;
  }

  #match({ path, text, number, start }: Line): boolean {
    const match: Match = { path: this.#limits.toPath(path), line: number, text: clip(text, start) };
    if (this.#before.length > 0) match.before = this.#before;
    this.#before = [];
    if (!this.#hasRoom(match.path + match.text) || this.matches.length >= this.#limits.bounds.rows) return false;
    this.matches.push(match);
    return true;
  }

  /** No match has more lines around it than were asked for, however many come. */
  #context({ path, text, number }: Line): boolean {
    const { context, toPath } = this.#limits;
    const line = clip(text, 0);
    const last = this.matches.at(-1);
    const isAfter = last?.path === toPath(path) && number <= last.line + context;
    const lines = isAfter ? (last.after ??= []) : this.#before;
    if (lines.length >= context) return (this.#excess += 1) <= BROKEN_MAX;
    lines.push(line);
    return this.#hasRoom(line);
  }

  #hasRoom(text: string): boolean {
    this.#bytes += Buffer.byteLength(text);
    return this.#bytes <= this.#limits.bounds.bytes;
  }
}

type Event = { readonly type: "match" | "context"; readonly line: Line } | { readonly type: "other" };

/** Reads a few fields and passes over the rest: a line may have a hundred thousand matches. */
function parseEvent(record: Buffer): Event | undefined {
  const { type, data } = fieldsOf(parseJson(record));
  if (type === "begin" || type === "end" || type === "summary") return { type: "other" };
  const line = type === "match" || type === "context" ? toLine(data) : undefined;
  return line && { type: type as "match" | "context", line };
}

function toLine(data: unknown): Line | undefined {
  const { path, lines, line_number: number, submatches } = fieldsOf(data);
  const [name, text] = [toText(path), toText(lines)];
  if (name === undefined || text === undefined || !Number.isInteger(number)) return undefined;
  const { start } = fieldsOf(Array.isArray(submatches) ? submatches[0] : undefined);
  return { path: name, text, number: Number(number), start: Number.isInteger(start) ? Number(start) : 0 };
}

/** A value that is text, or bytes where the file is no UTF-8. */
function toText(value: unknown): string | undefined {
  const { text, bytes } = fieldsOf(value);
  if (typeof text === "string") return text;
  return typeof bytes === "string" ? Buffer.from(bytes, "base64").toString("utf8") : undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** One line, without its end, bounded; `start` is where the match begins, in bytes. */
function clip(text: string, start: number): string {
  const line = text.replace(/\r?\n$/, "").replaceAll("\n", "\\n");
  if (line.length <= LINE_MAX) return line;
  const at = Buffer.from(line).toString("utf8", 0, start).length;
  const from = at + LINE_BEFORE > LINE_MAX ? at - LINE_BEFORE : 0;
  const end = from + LINE_MAX;
  return `${from > 0 ? "..." : ""}${copyPart(line, from, end)}${end < line.length ? "..." : ""}`;
}
