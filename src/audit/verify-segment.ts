import { BelljarError } from "../errors.ts";
import type { Sign } from "./audit-chain.ts";
import { FIRST_MAC } from "./audit-chain.ts";
import type { AuditEntry } from "./audit-line.ts";
import { parseAuditLine } from "./audit-line.ts";
import type { SegmentMark } from "./index-state.ts";
import { readLines } from "./read-lines.ts";

/** What the lines of one segment say of themselves. */
export interface CheckedLines {
  readonly lines: number;
  /** The first line that does not fit the key, the line before or the file, from 1; no line behind it was looked at. */
  readonly brokenLine?: number;
  /** The last line is not whole. */
  readonly isTorn: boolean;
  /** Whether the line of the mark is there as the mark has it. */
  readonly hasMark: boolean;
  /** Of the last line. */
  readonly mac: string;
  /** The segment that this one follows, and the MAC of that one's last line. */
  readonly after?: string;
  readonly previous: string;
  /** The segment that its last line names. */
  readonly next?: string;
}

/** Checks every line against the one before it, by the key. Linear, and in bounded memory. */
export async function checkLines(path: string, file: string, { sign, mark }: { readonly sign: Sign; readonly mark?: SegmentMark }) {
  const check = new LineCheck(file, sign, mark);
  for await (const { lines, isTorn } of readLines(path)) {
    for (const line of lines) if (!check.take(line)) return check.result(false);
    if (isTorn) return check.result(true);
  }
  return check.result(false);
}

class LineCheck {
  readonly #file: string;
  readonly #sign: Sign;
  readonly #mark: SegmentMark | undefined;
  #lines = 0;
  #brokenLine: number | undefined;
  #mac = FIRST_MAC;
  #hasMark = false;
  #first: AuditEntry | undefined;
  #last: AuditEntry | undefined;

  constructor(file: string, sign: Sign, mark: SegmentMark | undefined) {
    this.#file = file;
    this.#sign = sign;
    this.#mark = mark;
  }

  /** False for one that does not fit. */
  take(bytes: Uint8Array): boolean {
    this.#lines += 1;
    const entry = parseIfLine(bytes);
    if (entry && this.#fits(entry)) {
      this.#first ??= entry;
      this.#last = entry;
      this.#mac = entry.mac;
      this.#hasMark ||= entry.sequence === this.#mark?.sequence && entry.mac === this.#mark.lineMac;
      return true;
    }
    this.#brokenLine = this.#lines;
    return false;
  }

  result(isTorn: boolean): CheckedLines {
    const { after, previous } = this.#first?.fields ?? {};
    const next = this.#last?.fields["next"];
    return {
      lines: this.#lines,
      ...(this.#brokenLine !== undefined && { brokenLine: this.#brokenLine }),
      isTorn,
      hasMark: this.#hasMark,
      mac: this.#mac,
      ...(typeof after === "string" && { after }),
      previous: typeof previous === "string" ? previous : FIRST_MAC,
      ...(this.#last?.kind === "next" && typeof next === "string" && { next }),
    };
  }

  /** The first line says which file it begins, and what it is chained to. */
  #fits({ sequence, kind, fields, head, mac }: AuditEntry): boolean {
    if (sequence !== this.#lines) return false;
    if (sequence > 1) return mac === this.#sign(this.#mac, head);
    const { file, previous } = fields;
    return kind === "segment" && file === this.#file && typeof previous === "string" && mac === this.#sign(previous, head);
  }
}

function parseIfLine(bytes: Uint8Array): AuditEntry | undefined {
  try {
    return parseAuditLine(bytes);
  } catch (error) {
    if (error instanceof BelljarError) return undefined;
    throw error;
  }
}
