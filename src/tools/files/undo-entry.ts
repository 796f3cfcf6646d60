import { createHash } from "node:crypto";
import type { FileState } from "./file-state.ts";

/** What a file was before one change, and what the change left. */
export interface UndoEntry {
  readonly path: string;
  readonly before: FileState;
  /** Digest of the content that the change left; null: it left no file. */
  readonly after: string | null;
}

interface Header {
  readonly path: string;
  readonly existed: boolean;
  readonly mode: number;
  readonly after: string | null;
}

export const ENTRY_HEADER_MAX_BYTES = 16_384;
const NEWLINE = 0x0a;

export function digestOf(content: Buffer | undefined): string | null {
  return content ? createHash("sha256").update(content).digest("hex") : null;
}

/** One line of JSON, then the bytes. */
export function encodeUndoEntry({ path, before, after }: UndoEntry): Buffer {
  const header: Header = { path, existed: before.content !== undefined, mode: before.mode ?? 0o644, after };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), before.content ?? Buffer.alloc(0)]);
}

/** Undefined for what is no entry: root inside the sandbox may have written anything there. */
export function decodeUndoEntry(bytes: Buffer): UndoEntry | undefined {
  const end = bytes.subarray(0, ENTRY_HEADER_MAX_BYTES).indexOf(NEWLINE);
  const header = end < 0 ? undefined : parseHeader(bytes.toString("utf8", 0, end));
  if (!header) return undefined;
  const content = header.existed ? bytes.subarray(end + 1) : undefined;
  return { path: header.path, before: { content, mode: header.mode }, after: header.after };
}

function parseHeader(text: string): Header | undefined {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null) return undefined;
  const { path, existed, mode, after } = value as Partial<Record<keyof Header, unknown>>;
  if (typeof path !== "string" || typeof existed !== "boolean") return undefined;
  if (typeof mode !== "number" || !Number.isInteger(mode) || mode < 0 || mode > 0o777) return undefined;
  if (after !== null && typeof after !== "string") return undefined;
  return { path, existed, mode, after };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
