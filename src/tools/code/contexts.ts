import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { ContextInfo } from "../../interpreter/lasting/contexts.ts";
import { createContext, interruptContext, listContexts, removeContext, restartContext } from "../../interpreter/lasting/contexts.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument } from "../sandbox-path.ts";

const Input = z.strictObject({
  action: z.enum(["list", "create", "interrupt", "restart", "remove"]),
  context_id: z.string().min(1).max(64).optional().describe("What to interrupt, restart or remove"),
  lang: z.string().min(1).max(40).optional().describe("Of a new one: python (default), javascript, typescript or bash"),
  cwd: pathArgument("Folder that a new one starts in, by default the workspace").optional(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

type Arguments = z.output<typeof Input>;

const Output = z.object({
  contexts: z.array(
    z.object({
      context_id: z.string(),
      language: z.string(),
      default: z.boolean().describe("run_code uses it unasked"),
      running: z.boolean().describe("false: it ended, and starts again with its next run"),
    }),
  ),
});

/** The contexts of a sandbox: what `run_code` runs in. */
export const contexts: Tool = defineDataTool({
  name: "contexts",
  title: "Manage contexts",
  description: [
    "Lists, makes, interrupts, restarts and removes the lasting interpreters of run_code. A restart forgets their variables; an interrupt stops",
    "the code and keeps them. Answers the contexts that there are afterwards.",
  ].join("\n"),
  toolset: "code",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: Input,
  output: Output,
  async run(context, args) {
    const sandbox = await context.sandbox(args.sandbox);
    const { signal } = context;
    if (args.action === "create") await createContext(sandbox, { language: args.lang ?? "python", cwd: args.cwd });
    if (args.action === "interrupt") await interruptContext(sandbox, named(args), signal);
    if (args.action === "restart") await restartContext(sandbox, named(args), signal);
    if (args.action === "remove") await removeContext(sandbox, named(args), signal);
    return dataResult({ contexts: (await listContexts(sandbox, signal)).map(toValue) });
  },
});

function named({ action, context_id: id }: Arguments): string {
  if (id === undefined) throw new BelljarError("ARGUMENTS_INVALID", `${action} needs a context_id; action "list" shows which there are`);
  return id;
}

function toValue({ id, language, isDefault, pid }: ContextInfo) {
  return { context_id: id, language, default: isDefault, running: pid !== undefined };
}
