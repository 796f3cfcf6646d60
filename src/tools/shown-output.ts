import type { ToolContext } from "../catalog/tool.ts";
import { OutputWindow } from "../interpreter/output-window.ts";
import type { ToolLimits } from "./tool-limits.ts";

/** What a model is given of each output stream. */
export const MODEL_OUTPUT_BYTES = 65_536;
const KEPT_MAX_BYTES = 4 * 1_048_576;

/** Both output streams, held for one call. */
export interface OutputWindows {
  readonly stdout: OutputWindow;
  readonly stderr: OutputWindow;
}

/** What is held of each stream: more than a model is given at once, so that it can read on. */
export function heldBytes({ maxOutputBytes }: Pick<ToolLimits, "maxOutputBytes">): number {
  return Math.min(maxOutputBytes, KEPT_MAX_BYTES);
}

export function openOutputWindows(bytes: number): OutputWindows {
  return { stdout: new OutputWindow(bytes), stderr: new OutputWindow(bytes) };
}

/** As a model is given them. Of a long one it gets both ends; the mark between them says where to read all that is held of it. */
export function showOutput(context: Pick<ToolContext, "results">, { stdout, stderr }: OutputWindows) {
  return {
    stdout: showStream(context, stdout),
    stderr: showStream(context, stderr),
    truncated: [stdout, stderr].some((stream) => stream.truncated || stream.holdsMoreThan(MODEL_OUTPUT_BYTES)),
  };
}

function showStream({ results }: Pick<ToolContext, "results">, stream: OutputWindow): string {
  if (!stream.holdsMoreThan(MODEL_OUTPUT_BYTES)) return stream.text();
  return stream.excerpt(MODEL_OUTPUT_BYTES, `; read it with read_result, uri ${results.keep(stream.text())}`);
}
