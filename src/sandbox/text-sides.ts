import { isUtf8 } from "node:buffer";
import { BelljarError } from "../errors.ts";
import type { DiffRequest } from "../text/text-diff.ts";
import type { Texts } from "../text/texts.ts";

/** On whose behalf, and for how long, texts are worked on. */
export interface TextCall {
  readonly owner: string;
  readonly signal: AbortSignal;
}

export interface MergedSides {
  readonly base: Buffer;
  readonly ours: Buffer;
  readonly theirs: Buffer;
}

/** A text can be shown. */
export function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}

/** A unified diff. Undefined for a change that is too large to show. */
export async function diffSides(texts: Texts, request: DiffRequest, call: TextCall): Promise<string | undefined> {
  return (await orTooLarge(() => texts.run("diff", request, call)))?.diff;
}

/** The changes of both sides. Undefined for a conflict, and for texts that are too much work. */
export async function mergeSides(texts: Texts, sides: MergedSides, call: TextCall): Promise<Buffer | undefined> {
  const merged = (await orTooLarge(() => texts.run("merge", sides, call)))?.merged;
  return merged && Buffer.from(merged);
}

/** Undefined if both sides changed it, to different ones. */
export function mergeModes({
  base,
  ours,
  theirs,
}: {
  readonly base: number;
  readonly ours: number;
  readonly theirs: number;
}): number | undefined {
  if (ours === theirs || base === theirs) return ours;
  return base === ours ? theirs : undefined;
}

async function orTooLarge<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FILE_TOO_LARGE") return undefined;
    throw cause;
  }
}
