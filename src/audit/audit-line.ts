import { BelljarError } from "../errors.ts";
import { printableJson } from "../files/printable.ts";

/** A line of the audit without its newline: one JSON object. Its last field is the MAC of all bytes before that field. */
export interface AuditEntry {
  /** From 1 in each segment. */
  readonly sequence: number;
  readonly at: string;
  readonly kind: string;
  /** All fields, as they were written. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The bytes that the MAC covers, besides the MAC of the previous line. */
  readonly head: Uint8Array;
  readonly mac: string;
}

/** Belljar writes no longer lines. */
export const LINE_MAX_BYTES = 65_536;
/** A text of this length always fits into a line, even if each character is escaped. */
const SAFE_LENGTH = 20_000;
const CUT_LENGTH = 1_000;

const MAC_FIELD = ',"mac":"';
const MAC_LENGTH = 64;
const TAIL_LENGTH = MAC_FIELD.length + MAC_LENGTH + 2;

/** Serialises the fields of one line. Control characters are escaped, so that no value can break a line. Long texts are cut. */
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

/** Takes linear time for any bytes. Throws `AUDIT_DAMAGED` if they are no audit line. It does not check the MAC. */
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
    throw damaged("it is not UTF-8", cause);
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw damaged("it is not JSON", cause);
  }
  throw damaged("it is not a JSON object");
}

function damaged(why: string, cause?: unknown): BelljarError {
  return new BelljarError("AUDIT_DAMAGED", `This is not an audit line: ${why}`, { cause });
}
