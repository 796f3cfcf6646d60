import { toByteText } from "../byte-text.ts";
import { countLines } from "./file-lines.ts";
import type { FilePatch } from "./file-patch.ts";
import { assertBounds, assertLineBound } from "./file-patch.ts";
import { parseCodexPatch } from "./parse-codex.ts";
import { parseUnifiedPatch } from "./parse-unified.ts";

/** Takes both grammars: `*** Begin Patch` makes the difference. Throws `ARGUMENTS_INVALID`, naming the line. */
export function parsePatch(patch: string): readonly FilePatch[] {
  assertLineBound(countLines(patch));
  const lines = toByteText(patch.replace(/^\ufeff/, "")).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const begin = lines.findIndex((line) => line.trimEnd() === "*** Begin Patch");
  return assertBounds(begin >= 0 ? parseCodexPatch(lines, begin) : parseUnifiedPatch(lines));
}
