import * as z from "zod";
import type { TextResult, Tool, ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { heldBytes } from "../../interpreter/output-window.ts";
import { ranOutOfMemory } from "../../sandbox/memory-watch.ts";
import { commandText, factLine } from "../output-text.ts";
import type { ShellResult } from "../run-shell.ts";
import { runShell } from "../run-shell.ts";
import { acceptCommand } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { maxBytesArgument, rawArgument } from "../max-bytes.ts";
import { pathArgument } from "../sandbox-path.ts";
import type { ShownOutput } from "../shown-output.ts";
import { showOutput } from "../shown-output.ts";
import type { ShellSessions } from "../../interpreter/lasting/shell-sessions.ts";
import { startBackground } from "./background-processes.ts";
import { processFacts } from "./process-facts.ts";
import { runInSession, sessionArgument } from "./shell-run.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { HOUR_MS, commandArgument, envArgument, timeoutArgument } from "./command-argument.ts";

const BACKGROUND_ALONE = ["timeout_ms", "session", "max_bytes", "raw"] as const;
const SESSION_WITHOUT = ["cwd", "env"] as const;

const Input = z
  .strictObject({
    command: commandArgument("Command line for bash (sh where there is no bash)"),
    cwd: pathArgument("Folder to start in, by default the workspace").optional(),
    env: envArgument(),
    timeout_ms: timeoutArgument("It is killed after so long; at most an hour"),
    background: z.boolean().optional().describe("Return at once and let it go on, as a server or a long build; see process"),
    session: sessionArgument().describe("Name of a shell that keeps its folder and variables between calls"),
    max_bytes: maxBytesArgument(),
    raw: rawArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .superRefine((args, context) => {
    const others = args.background ? BACKGROUND_ALONE : args.session === undefined ? [] : SESSION_WITHOUT;
    for (const name of others) {
      if (args[name] !== undefined)
        context.addIssue({ code: "custom", path: [name], message: `has no meaning with ${args.background ? "background" : "session"}` });
    }
  });

type Arguments = z.output<typeof Input>;

const Output = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable().describe("null when a signal ended the command"),
  signal: z.string().nullable().describe("Name of the signal that ended the command, as SIGKILL"),
  duration_ms: z.number(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe("The middle of a long output was cut"),
});

export function createRunCommand(sessions: ShellSessions, config: Pick<ToolLimits, "execTimeoutMs" | "maxOutputBytes">): Tool {
  return defineTool({
    name: "run_command",
    title: "Run a command",
    description: [
      "Runs a shell command in your sandbox and returns its output and, in the last line, its exit code. Files and background processes stay for",
      "later calls; folder and variables only in a session. Standard input is empty. The network is often closed (see sandbox).",
      "Of long output both ends are shown; the last line says how to read on.",
    ].join("\n"),
    toolset: "shell",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: acceptCommand,
    input: Input,
    value: Output,
    async run(context, args) {
      if (args.background) return runBehind(context, args);
      if (args.session !== undefined) return runInSession(context, args, { sessions, config });
      const sandbox = await context.sandbox(args.sandbox);
      const timeoutMs = args.timeout_ms ?? Math.min(config.execTimeoutMs, HOUR_MS);
      const oomKills = await sandbox.knownOomKills();
      const result = await runShell(sandbox, context, { ...args, timeoutMs, heldBytes: heldBytes(config) });
      const options = { sandbox, sandboxId: args.sandbox, maxBytes: args.max_bytes, raw: args.raw ?? false };
      const shown = await showOutput(context, result.windows, options);
      return toToolResult(result.exit, shown, await ranOutOfMemory(sandbox, result.exit, oomKills));
    },
  });
}

/** What a process in the background answers at once; `process` follows it. */
async function runBehind(context: ToolContext, { command, cwd = ".", env = {}, sandbox: id }: Arguments): Promise<TextResult> {
  const sandbox = await context.sandbox(id);
  const facts = processFacts(await startBackground(sandbox, { command, cwd, env, signal: context.signal }));
  const follow = JSON.stringify({ action: "output", process_id: facts.process_id, ...(id !== undefined && { sandbox: id }) });
  return textResult(facts, factLine(facts, `follow it with process ${follow}`));
}

function toToolResult(exit: ShellResult["exit"], { truncated, rest, ...streams }: ShownOutput, outOfMemory: boolean): TextResult {
  const facts = {
    exit_code: exit.exitCode ?? null,
    signal: exit.signal ?? null,
    duration_ms: Math.round(exit.durationMs),
    timed_out: exit.timedOut,
    truncated,
  };
  const late = exit.timedOut ? ["killed at its time limit; with background it goes on"] : [];
  const memory = outOfMemory ? ["killed because the sandbox's memory was used up"] : [];
  return textResult({ ...streams, ...facts }, commandText(streams, facts, ...late, ...memory, ...rest));
}
