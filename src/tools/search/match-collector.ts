import * as z from "zod";
import type { RowBounds } from "../shown-rows.ts";

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

/** A value that is text, or bytes where the file is no UTF-8. */
const Text = z.union([z.object({ text: z.string() }), z.object({ bytes: z.base64() })]);
const Line = z.object({
  path: Text,
  lines: Text,
  line_number: z.number().int(),
  submatches: z.array(z.object({ start: z.number().int() })),
});
const Event = z.discriminatedUnion("type", [
  z.object({ type: z.literal("match"), data: Line }),
  z.object({ type: z.literal("context"), data: Line }),
  z.object({ type: z.literal("begin") }),
  z.object({ type: z.literal("end") }),
  z.object({ type: z.literal("summary") }),
]);

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

  constructor(limits: MatchLimits) {
    this.#limits = limits;
  }

  /** False: there is no room for this one, and nothing more is wanted. */
  take(record: Buffer | undefined): boolean {
    const event = record && parseEvent(record);
    if (!event) {
      this.dropped += 1;
      return true;
    }
    if (event.type === "match") return this.#match(event.data);
    if (event.type === "context") this.#context(event.data);
    if (event.type === "begin") this.#before = [];
    return true;
  }

  #match({ path, lines, line_number: line, submatches }: z.output<typeof Line>): boolean {
    const text = clip(toText(lines), submatches[0]?.start ?? 0);
    const match: Match = { path: this.#limits.toPath(toText(path)), line, text };
    if (this.#before.length > 0) match.before = this.#before;
    this.#before = [];
    this.#bytes += Buffer.byteLength(match.path) + Buffer.byteLength(text);
    const { rows, bytes } = this.#limits.bounds;
    if (this.matches.length >= rows || this.#bytes > bytes) return false;
    this.matches.push(match);
    return true;
  }

  #context({ path, lines, line_number: line }: z.output<typeof Line>): void {
    const text = clip(toText(lines), 0);
    this.#bytes += Buffer.byteLength(text);
    const last = this.matches.at(-1);
    const isAfter = last?.path === this.#limits.toPath(toText(path)) && line <= last.line + this.#limits.context;
    if (isAfter) last.after = [...(last.after ?? []), text];
    else this.#before.push(text);
  }
}

function parseEvent(record: Buffer): z.output<typeof Event> | undefined {
  try {
    return Event.safeParse(JSON.parse(record.toString("utf8"))).data;
  } catch {
    return undefined;
  }
}

function toText(value: z.output<typeof Text>): string {
  return "text" in value ? value.text : Buffer.from(value.bytes, "base64").toString("utf8");
}

/** One line, without its end, bounded; `start` is where the match begins, in bytes. */
function clip(text: string, start: number): string {
  const line = text.replace(/\r?\n$/, "").replaceAll("\n", "\\n");
  if (line.length <= LINE_MAX) return line;
  const at = Buffer.from(line).toString("utf8", 0, start).length;
  const from = at + LINE_BEFORE > LINE_MAX ? at - LINE_BEFORE : 0;
  const end = from + LINE_MAX;
  return `${from > 0 ? "..." : ""}${line.slice(from, end)}${end < line.length ? "..." : ""}`;
}
