import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { ContextResult, contextArguments, noContexts } from "../code/run-code.ts";
import { idArgument } from "./sandbox-results.ts";

export const sandboxRunCode = defineTool({
  name: "sandbox_run_code",
  title: "Run code in a sandbox",
  description: "Not supported yet: interpreters that keep their variables are not there. Use execute_code with `sandbox`.",
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({ id: idArgument(), ...contextArguments }),
  value: ContextResult,
  async run(context, { id }) {
    await context.sandbox(id);
    throw noContexts();
  },
});
