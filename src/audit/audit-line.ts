import { BelljarError } from "../errors.ts";
import { printableJson } from "../files/printable.ts";

/** A line of the audit without its newline: one JSON object whose last field is the MAC of what stands before it. */
export interface AuditEntry {
  /** From 1 in each segment. */
  readonly sequence: number;
  readonly at: string;
  readonly kind: string;
  /** All of them, as they were written. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What the MAC covers, beside the MAC of the line before. */
  readonly head: Uint8Array;
  readonly mac: string;
}

/** Longer lines are none of ours. */
export const LINE_MAX_BYTES = 65_536;
/** A text of so many characters fits, whatever they are. */
const SAFE_LENGTH = 20_000;
const CUT_LENGTH = 1_000;

const MAC_FIELD = ',"mac":"';
const MAC_LENGTH = 64;
const TAIL_LENGTH = MAC_FIELD.length + MAC_LENGTH + 2;

/** The fields as one line will have them, with nothing raw that a terminal or a reader of lines could take for more. A text that is too long is cut. */
export function serialiseFields(fields: Readonly<Record<string, unknown>>): string {
  const text = printableJson(JSON.stringify(fields));
  if (text.length <= SAFE_LENGTH) return text;
  const cut = Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? value.slice(0, CUT_LENGTH) : value]);
  return printableJson(JSON.stringify(Object.fromEntries(cut)));
}

export function toHead(sequence: number, fields: string): string {
  return `{"sequence":${sequence},${fields.slice(1, -1)}`;
}

export function toLine(head: string, mac: string): string {
  return `${head}${MAC_FIELD}${mac}"}\n`;
}

/** Pure, and linear in the bytes, whatever they are. Throws `AUDIT_DAMAGED` for what is no line of an audit; whether its MAC is right is another question. */
export function parseAuditLine(bytes: Uint8Array): AuditEntry {
  if (bytes.length > LINE_MAX_BYTES || bytes.length <= TAIL_LENGTH) throw damaged("it is too long or too short");
  const head = bytes.subarray(0, bytes.length - TAIL_LENGTH);
  const fields = parseObject(decode(head) + "}");
  const mac = parseTail(decode(bytes.subarray(bytes.length - TAIL_LENGTH)));
  const { sequence, at, kind } = fields;
  if (typeof sequence !== "number" || !Number.isSafeInteger(sequence) || sequence < 1) throw damaged("it has no sequence");
  if (typeof at !== "string" || typeof kind !== "string") throw damaged("it has no time or no kind");
  return { sequence, at, kind, fields, head, mac };
}

function parseTail(text: string): string {
  const mac = text.slice(MAC_FIELD.length, -2);
  if (text.startsWith(MAC_FIELD) && text.endsWith('"}') && /^[0-9a-f]{64}$/.test(mac)) return mac;
  throw damaged("it does not end with a MAC");
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw damaged("it is no UTF-8", cause);
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw damaged("it is no JSON", cause);
  }
  throw damaged("it is no JSON object");
}

function damaged(why: string, cause?: unknown): BelljarError {
  return new BelljarError("AUDIT_DAMAGED", `This is no line of an audit: ${why}`, { cause });
}
