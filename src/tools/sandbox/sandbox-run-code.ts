import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { CodeOptions } from "../code/run-code.ts";
import { acceptCode, CodeValue, codeArguments, runInContext, toCodeValue } from "../code/run-code.ts";
import { showValues, withoutPictures } from "../code/shown-values.ts";
import { showOutput } from "../shown-output.ts";
import { idArgument } from "./sandbox-results.ts";

const NO_ROOM = { bytes: 0, lines: 0 };

export function createSandboxRunCode(config: CodeOptions): Tool {
  return defineDataTool({
    name: "sandbox_run_code",
    title: "Run code in a sandbox",
    description: [
      "Runs code in a lasting interpreter of the sandbox that `id` names, and returns what it printed and its values as data; pictures come beside it.",
      "In your default sandbox use run_code, which needs no id.",
    ].join("\n"),
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: acceptCode,
    input: z.strictObject({ id: idArgument(), ...codeArguments }),
    output: CodeValue,
    async run(context, args) {
      const sandbox = await context.sandbox(args.id);
      const result = await runInContext(context, sandbox, args, config);
      const value = toCodeValue(result, await showOutput(context, result.windows, { sandbox, sandboxId: args.id }));
      const shown = dataResult({ ...value, results: withoutPictures(value.results) });
      const { pictures } = showValues(result, { room: NO_ROOM, raw: false });
      return { ...shown, value, content: [...shown.content, ...pictures] };
    },
  });
}
