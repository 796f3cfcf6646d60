import { createHash } from "node:crypto";
import { isSecretName, REDACTED, redactText } from "./redact.ts";

/** Where every call is written down, refused and failed ones too. */
export interface Audit {
  /** Throws `AUDIT_FAILED` while the log cannot be written, so that nothing runs unseen. */
  assertWritable(): void;
  /** Never throws; what it was given is written soon, at the latest on close. */
  record(call: AuditedCall): void;
}

export interface AuditedCall {
  readonly requestId: string;
  /** The principal's id. */
  readonly principal: string;
  readonly tool: string;
  /** The sandbox that it worked in, if it did in one. */
  readonly sandbox?: string;
  readonly arguments: unknown;
  /** `ok`, `error` for a result that says so, or the code of the failure. */
  readonly outcome: string;
  /** Of the result's text and data, as it was answered. */
  readonly resultBytes: number;
  readonly durationMs: number;
}

const PREVIEW_MAX = 1_024;
const VALUE_MAX = 160;
/** So much of a longer value is searched for secrets. */
const LOOKED_AT = 4 * VALUE_MAX;
const NODES_MAX = 64;
const DEPTH_MAX = 4;

/** What a log keeps of arguments: their digest, and a short beginning of each without the values that are named as secrets. */
export function summarise(args: unknown): { readonly digest: string; readonly preview: string } {
  const text = serialise(args);
  const preview = JSON.stringify(redact(args, { left: NODES_MAX }, 0)) ?? "null";
  return {
    digest: createHash("sha256").update(text).digest("hex"),
    preview: preview.length > PREVIEW_MAX ? `${preview.slice(0, PREVIEW_MAX)}...` : preview,
  };
}

/** Arguments may be nested deeper than a serialiser goes; the call is recorded all the same. */
function serialise(args: unknown): string {
  try {
    return JSON.stringify(args) ?? "null";
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return "not serialisable";
    throw error;
  }
}

function redact(value: unknown, nodes: { left: number }, depth: number): unknown {
  if (typeof value === "string") return shorten(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEPTH_MAX) return "...";
  if (Array.isArray(value)) return firstOf(value, nodes).map((item) => redact(item, nodes, depth + 1));
  const entries = firstOf(Object.entries(value), nodes).map(([key, inner]) => [
    key.slice(0, VALUE_MAX),
    isSecretName(key) ? REDACTED : redact(inner, nodes, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

/** The cut may not lay open the beginning of a secret whose end would have told what it is. */
function shorten(value: string): string {
  if (value.length <= VALUE_MAX) return redactText(value);
  const redacted = redactText(value.slice(0, LOOKED_AT));
  const start = (value.length > LOOKED_AT ? wholeWords(redacted) : redacted).slice(0, VALUE_MAX);
  return `${start.replace(/:\/\/[^\s/@[:]*:[^\s/@]*$/, `://${REDACTED}`)}... (${value.length} characters)`;
}

/** What was redacted may have become so short that the last word shows, which may be the beginning of a secret. */
function wholeWords(redacted: string): string {
  return redacted.length >= LOOKED_AT / 2 || redacted.endsWith(REDACTED) ? redacted : redacted.slice(0, redacted.lastIndexOf(" ") + 1);
}

/** As many as the budget of the whole preview still allows. */
function firstOf<T>(items: readonly T[], nodes: { left: number }): readonly T[] {
  const taken = items.slice(0, Math.max(0, nodes.left));
  nodes.left -= taken.length;
  return taken;
}
