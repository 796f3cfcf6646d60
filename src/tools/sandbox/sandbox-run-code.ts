import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { idArgument } from "./sandbox-results.ts";

const Input = z.strictObject({
  id: idArgument(),
  code: z.string().max(1_048_576),
  lang: z.string().min(1).max(40).optional(),
  context_id: z.string().min(1).max(64).optional().describe("The interpreter to go on with"),
});

const Output = z.object({
  stdout: z.string(),
  stderr: z.string(),
  results: z.array(z.record(z.string(), z.unknown())),
  error: z.record(z.string(), z.unknown()).optional(),
});

export const sandboxRunCode = defineTool({
  name: "sandbox_run_code",
  title: "Run code in a sandbox",
  description: "Not supported yet: interpreters that keep their variables are not there. Use execute_code with `sandbox`.",
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: Input,
  output: Output,
  async run(context, { id }) {
    await context.sandbox(id);
    throw new BelljarError("NOT_SUPPORTED", "Interpreters that keep their variables are not there yet: use execute_code with `sandbox`");
  },
});
