import type { ToolContext } from "../catalog/tool.ts";
import type { OutputWindow, OutputWindows } from "../interpreter/output-window.ts";

/** What a model is given of each output stream. */
export const MODEL_OUTPUT_BYTES = 65_536;

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
