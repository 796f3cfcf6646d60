import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";

/** What code for a lasting interpreter needs, whatever names its sandbox. */
export const contextArguments = {
  code: z.string().max(1_048_576).describe("The code to run"),
  lang: z.string().min(1).max(40).optional().describe("Its language; default python"),
  language: z.string().min(1).max(40).optional().describe("The same as lang"),
  context_id: z.string().min(1).max(64).optional().describe("The interpreter to go on with"),
};

export const ContextResult = z.object({
  stdout: z.string(),
  stderr: z.string(),
  results: z.array(z.record(z.string(), z.unknown())),
  error: z.record(z.string(), z.unknown()).optional(),
});

export function noContexts(): BelljarError {
  const advice = "use execute_code with `sandbox`, and keep what is needed later in files";
  return new BelljarError("NOT_SUPPORTED", `Interpreters that keep their variables are not available yet: ${advice}`);
}

export const runCode = defineTool({
  name: "run_code",
  title: "Run code in a lasting interpreter",
  description: "Not supported yet: interpreters that keep their variables are not there. Use execute_code.",
  toolset: "code",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({ ...contextArguments, sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
  value: ContextResult,
  async run(context, { sandbox: id }) {
    if (id !== undefined) await context.sandbox(id);
    throw noContexts();
  },
});
