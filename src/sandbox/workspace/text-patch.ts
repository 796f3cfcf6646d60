import { createTwoFilesPatch } from "diff";
import { showPath } from "./entry.ts";

/** Beyond this many changed lines a patch helps nobody, and finding the least one takes long. */
const MAX_EDITS = 4000;

/** A unified diff of two texts; undefined when either is binary or they have too little in common. */
export function createTextPatch(path: Buffer, before: Buffer, after: Buffer): string | undefined {
  const [old, now] = [toText(before), toText(after)];
  if (old === undefined || now === undefined) return undefined;
  const name = showPath(path);
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, old, now, undefined, undefined, { context: 3, maxEditLength: MAX_EDITS });
}

export function isText(bytes: Buffer): boolean {
  return toText(bytes) !== undefined;
}

function toText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
