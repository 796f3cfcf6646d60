import { createHash } from "node:crypto";
import type { FileState } from "./file-state.ts";

/** What a file was before one change, and what the change left. */
export interface UndoEntry {
  readonly before: FileState;
  /** Digest of the content that the change left; null: it left no file. */
  readonly after: string | null;
}

/** What the name of a level in the store says. The file itself holds the old content and nothing else. */
export interface UndoName {
  /** The digest of the path of the file that was changed. */
  readonly file: string;
  readonly level: number;
  /** Null: there was no file. */
  readonly before: { readonly mode: number; readonly digest: string } | null;
  readonly after: string | null;
}

const NONE = "none";
const NAME = /^([0-9a-f]{32})-([0-9]{10})-(?:none|([0-7]{3})-([0-9a-f]{64}))-(none|[0-9a-f]{64})$/;

export function digestOf(content: Buffer | undefined): string | null {
  return content ? createHash("sha256").update(content).digest("hex") : null;
}

export function formatUndoName({ file, level, before, after }: UndoName): string {
  const old = before ? `${before.mode.toString(8).padStart(3, "0")}-${before.digest}` : NONE;
  return `${file}-${String(level).padStart(10, "0")}-${old}-${after ?? NONE}`;
}

/** Undefined for any other name: root inside the sandbox may have written anything there. */
export function parseUndoName(name: string): UndoName | undefined {
  const [, file, level, mode, digest, after] = NAME.exec(name) ?? [];
  if (file === undefined || after === undefined) return undefined;
  const before = mode === undefined || digest === undefined ? null : { mode: Number.parseInt(mode, 8), digest };
  return { file, level: Number(level), before, after: after === NONE ? null : after };
}
