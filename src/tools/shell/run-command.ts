import * as z from "zod";
import type { TextResult, Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { heldBytes } from "../../interpreter/output-window.ts";
import { ranOutOfMemory } from "../../sandbox/memory-watch.ts";
import { commandText } from "../output-text.ts";
import type { ShellResult } from "../run-shell.ts";
import { runShell } from "../run-shell.ts";
import { acceptCommand } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { maxBytesArgument, rawArgument } from "../max-bytes.ts";
import { pathArgument } from "../sandbox-path.ts";
import type { ShownOutput } from "../shown-output.ts";
import { showOutput } from "../shown-output.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { HOUR_MS, commandArgument, envArgument, timeoutArgument } from "./command-argument.ts";

const Input = z.strictObject({
  command: commandArgument("Command line for bash (sh where there is no bash)"),
  cwd: pathArgument("Folder to start in, by default the workspace").optional(),
  env: envArgument(),
  timeout_ms: timeoutArgument("The command is killed after so long; at most an hour"),
  max_bytes: maxBytesArgument(),
  raw: rawArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable().describe("null when a signal ended the command"),
  signal: z.string().nullable().describe("Name of the signal that ended the command, as SIGKILL"),
  duration_ms: z.number(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe("The middle of a long output was cut"),
});

export function createRunCommand(config: Pick<ToolLimits, "execTimeoutMs" | "maxOutputBytes">): Tool {
  return defineTool({
    name: "run_command",
    title: "Run a command",
    description: [
      "Runs a shell command in your sandbox and returns its output and exit code. Files and background processes stay for later calls;",
      "variables and the working folder do not: give `cwd` and `env`. Standard input is empty. What it reaches beyond loopback sandbox_network shows: often nothing.",
      "A non-zero exit code is a result, not an error. Of long output the beginning and the end are shown, and the rest can be read.",
      "For a server or a watcher use run_background; for work that builds on a folder and variables set before, shell_run.",
    ].join("\n"),
    toolset: "shell",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: acceptCommand,
    input: Input,
    value: Output,
    async run(context, args) {
      const sandbox = await context.sandbox(args.sandbox);
      const timeoutMs = args.timeout_ms ?? Math.min(config.execTimeoutMs, HOUR_MS);
      const oomKills = await sandbox.knownOomKills();
      const result = await runShell(sandbox, context, { ...args, timeoutMs, heldBytes: heldBytes(config) });
      const shown = await showOutput(context, result.windows, { sandbox, maxBytes: args.max_bytes, raw: args.raw });
      return toToolResult(result.exit, shown, await ranOutOfMemory(sandbox, result.exit, oomKills));
    },
  });
}

function toToolResult(exit: ShellResult["exit"], { truncated, rest, ...streams }: ShownOutput, outOfMemory: boolean): TextResult {
  const facts = {
    exit_code: exit.exitCode ?? null,
    signal: exit.signal ?? null,
    duration_ms: Math.round(exit.durationMs),
    timed_out: exit.timedOut,
    truncated,
  };
  const memory = outOfMemory ? ["killed because the sandbox's memory was used up"] : [];
  return textResult({ ...streams, ...facts }, commandText(streams, facts, ...memory, ...rest));
}
