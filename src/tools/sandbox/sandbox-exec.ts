import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { heldBytes } from "../../interpreter/output-window.ts";
import { tellUsedUp, watchUsedUp } from "../../sandbox/used-up.ts";
import { commandText } from "../output-text.ts";
import { runShell } from "../run-shell.ts";
import { pathArgument } from "../sandbox-path.ts";
import { showOutput } from "../shown-output.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { commandArgument, envArgument, userArgument } from "../shell/command-argument.ts";
import { otherNames } from "../../catalog/accept.ts";
import { idArgument } from "./sandbox-results.ts";

const Input = z.strictObject({
  id: idArgument(),
  cmd: commandArgument("Command line for bash (sh where there is no bash)"),
  cwd: pathArgument("Folder to start in, by default the workspace").optional(),
  env: envArgument(),
  user: userArgument(),
  timeout_s: z.number().min(0.001).max(3_600).optional().describe("The command is killed after so long; at most an hour"),
});

const Output = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable().describe("null when a signal ended the command"),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe("The middle of a long output was cut"),
});

export function createSandboxExec(config: Pick<ToolLimits, "execTimeoutMs" | "maxOutputBytes">): Tool {
  return defineTool({
    name: "sandbox_exec",
    title: "Run a command in a sandbox",
    description: [
      "Runs a shell command in the sandbox that `id` names and returns its output and exit code. A non-zero exit code is a result, not an error.",
      "In your default sandbox use run_command, which needs no id.",
    ].join("\n"),
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: otherNames({ command: "cmd" }),
    input: Input,
    value: Output,
    async run(context, args) {
      const sandbox = await context.sandbox(args.id);
      const timeoutMs = args.timeout_s === undefined ? config.execTimeoutMs : Math.ceil(args.timeout_s * 1_000);
      const command = { ...args, command: args.cmd, timeoutMs, heldBytes: heldBytes(config) };
      const findUsedUp = await watchUsedUp(sandbox);
      const { exit, windows } = await runShell(sandbox, context, command);
      const usedUp = await findUsedUp(exit);
      const { truncated, rest, ...streams } = await showOutput(context, windows, { sandbox, sandboxId: args.id });
      const facts = { exit_code: exit.exitCode ?? null, signal: exit.signal ?? null, timed_out: exit.timedOut };
      return textResult({ ...streams, ...facts, truncated }, commandText(streams, { ...facts, truncated }, ...tellUsedUp(usedUp), ...rest));
    },
  });
}
