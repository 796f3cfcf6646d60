import * as z from "zod";
import { EVALUATE, EVALUATE_FIELDS } from "../../browser/actions/evaluate.ts";
import { findTargetProblem } from "../../browser/actions/fields.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { cutAtLine } from "../../catalog/result.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { callBrowser } from "./browser-call.ts";
import { browserTool } from "./browser-tool.ts";

/** Shown at once; read_result has the rest. */
const SHOWN_BYTES = 32_768;

export const evaluate = browserTool({
  name: "browser_evaluate",
  title: "Run JavaScript in a page",
  description: "Evaluates JavaScript in the page and answers its value as JSON, of at most 960 KiB.",
  fields: EVALUATE_FIELDS,
  findProblem: (args) => findTargetProblem(args, { isOptional: true }),
  value: z.object({ json: z.string() }),
  async run(call, args) {
    const { value } = await callBrowser(call, EVALUATE, args);
    const shown = cutAtLine(value.json, SHOWN_BYTES);
    if (shown === value.json) return textResult(value, markOutside(value.json));
    const [from, total] = [Buffer.byteLength(shown), Buffer.byteLength(value.json)];
    const uri = `${call.context.results.keep(value.json, { isOutside: true })}?offset=${from}`;
    const note = `[Cut: ${from} of ${total} bytes are shown. Read on with read_result ${JSON.stringify({ uri })}]`;
    return textResult(value, `${markOutside(shown)}\n${note}`);
  },
});
