import { hash } from "node:crypto";
import { isSecretName, REDACTED, redactText } from "./redact.ts";

/** Records every call, even refused and failed calls. */
export interface Audit {
  /** Throws `AUDIT_FAILED` or `DISK_FULL` while the log cannot be written, so that nothing runs unrecorded. */
  assertWritable(): void;
  /** Never throws. The line is written soon, at the latest on close. */
  record(call: AuditedCall): void;
  /** Resolves once the lines of all recorded calls are written, or cannot be written now. Never rejects. */
  written(): Promise<void>;
}

export interface AuditedCall {
  readonly requestId: string;
  /** The request of the call that made this one, where a tool did. */
  readonly parent?: string;
  /** The principal's id. */
  readonly principal: string;
  readonly tool: string;
  /** The sandbox that the call worked in, if any. */
  readonly sandbox?: string;
  /** The code of a user that it ran. */
  readonly code?: { readonly owner: string; readonly unit: string; readonly version: number };
  /** How a person approved it: asked for it, before it, or with the call that made it. Absent: it needed none. */
  readonly approval?: "asked" | "given" | "outer";
  readonly arguments: unknown;
  /** `ok`, `error` for a result that reports an error, or the code of the failure. */
  readonly outcome: string;
  /** Size of the text and data of the result, as sent to the caller. */
  readonly resultBytes: number;
  readonly durationMs: number;
}

const PREVIEW_MAX = 1_024;
const VALUE_MAX = 160;
/** Only this much of a longer value is searched for secrets. */
const LOOKED_AT = 4 * VALUE_MAX;
const NODES_MAX = 64;
const DEPTH_MAX = 4;

/** Summarises arguments for the log: their digest, and a short preview of each value. Values that look like secrets are redacted. */
export function summarise(args: unknown): { readonly digest: string; readonly preview: string } {
  const text = serialise(args);
  const preview = JSON.stringify(redact(args, { left: NODES_MAX }, 0)) ?? "null";
  return {
    digest: hash("sha256", text),
    preview: preview.length > PREVIEW_MAX ? `${preview.slice(0, PREVIEW_MAX)}...` : preview,
  };
}

/** Arguments may be nested too deeply for JSON. The call is recorded nevertheless. */
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

/** A secret may be recognisable only as a whole. The cut must not show the beginning of such a secret. */
function shorten(value: string): string {
  if (value.length <= VALUE_MAX) return redactText(value);
  const redacted = redactText(value.slice(0, LOOKED_AT));
  const start = (value.length > LOOKED_AT ? wholeWords(redacted) : redacted).slice(0, VALUE_MAX);
  return `${start.replace(/:\/\/[^\s/@[:]*:[^\s/@]*$/, `://${REDACTED}`)}... (${value.length} characters)`;
}

/** Redaction may shorten the text so much that its last word shows. That word may be the beginning of a secret, so it is removed. */
function wholeWords(redacted: string): string {
  return redacted.length >= LOOKED_AT / 2 || redacted.endsWith(REDACTED) ? redacted : redacted.slice(0, redacted.lastIndexOf(" ") + 1);
}

/** Takes as many items as the budget of the whole preview still allows. */
function firstOf<T>(items: readonly T[], nodes: { left: number }): readonly T[] {
  const taken = items.slice(0, Math.max(0, nodes.left));
  nodes.left -= taken.length;
  return taken;
}
