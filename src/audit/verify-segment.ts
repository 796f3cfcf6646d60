import { BelljarError } from "../errors.ts";
import type { Sign } from "./audit-chain.ts";
import { FIRST_MAC } from "./audit-chain.ts";
import type { AuditEntry } from "./audit-line.ts";
import { parseAuditLine } from "./audit-line.ts";
import type { SegmentMark } from "./index-state.ts";
import { readLines } from "./read-lines.ts";

/** The result of checking the lines of one segment. */
export interface CheckedLines {
  readonly lines: number;
  /** The first line (from 1) that does not match the key, the previous line or the file's name. Later lines are not checked. */
  readonly brokenLine?: number;
  /** The last line is incomplete. */
  readonly isTorn: boolean;
  /** True if the line of the mark exists and has the mark's MAC. */
  readonly hasMark: boolean;
  /** MAC of the last line. */
  readonly mac: string;
  /** The segment's predecessor; `previous` is the MAC of the predecessor's last line. */
  readonly after?: string;
  readonly previous: string;
  /** The successor that the last line names. */
  readonly next?: string;
}

/** Checks every line against the previous line, with the key. It takes linear time and bounded memory. */
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

  /** Returns false for a line that does not fit. */
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

  /** The first line names its file, and the MAC that it is chained to. */
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
