import * as z from "zod";
import type { TextResult, Tool, ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { heldBytes } from "../../interpreter/output-window.ts";
import { BelljarError } from "../../errors.ts";
import { settleWithin } from "../../async/settle-within.ts";
import type { ExecExit, Sandbox } from "../../sandbox/sandbox.ts";
import { tellUsedUp, type UsedUp, watchUsedUp } from "../../sandbox/used-up.ts";
import { commandText, factLine } from "../output-text.ts";
import type { RunningShell } from "../run-shell.ts";
import { startShell } from "../run-shell.ts";
import { acceptCommand } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { maxBytesArgument, rawArgument } from "../max-bytes.ts";
import { pathArgument } from "../sandbox-path.ts";
import type { ShownOutput, ShowOptions } from "../shown-output.ts";
import { showOutput } from "../shown-output.ts";
import type { ShellSessions } from "../../interpreter/lasting/shell-sessions.ts";
import { startBackground } from "./background-processes.ts";
import type { LateCommands } from "./late-commands.ts";
import { processFacts } from "./process-facts.ts";
import { runInSession, sessionArgument } from "./shell-run.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { HOUR_MS, commandArgument, envArgument, timeoutArgument, userArgument } from "./command-argument.ts";

const BACKGROUND_ALONE = ["timeout_ms", "session", "max_bytes", "raw"] as const;
const SESSION_WITHOUT = ["cwd", "env", "user"] as const;

const Input = z
  .strictObject({
    command: commandArgument("Command line for bash (sh where there is no bash)"),
    cwd: pathArgument("Folder to start in, by default the workspace").optional(),
    env: envArgument(),
    user: userArgument(),
    timeout_ms: timeoutArgument("After so long it goes on in the background; in a session it is interrupted. At most an hour"),
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
  process_id: z.string().nullable().describe("Of a command that ran out of time and goes on in the background"),
  truncated: z.boolean().describe("The middle of a long output was cut"),
});

export interface RunCommandOptions {
  readonly sessions: ShellSessions;
  /** Takes commands that run out of time. */
  readonly late: LateCommands;
  readonly config: Pick<ToolLimits, "execTimeoutMs" | "maxOutputBytes">;
}

export function createRunCommand({ sessions, late, config }: RunCommandOptions): Tool {
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
      const findUsedUp = await watchUsedUp(sandbox);
      const { command, cwd, env, user } = args;
      using running = startShell(sandbox, context, { command, cwd, env, user, heldBytes: heldBytes(config) });
      const exit = await settleWithin(running.exited, { timeoutMs });
      const options = { sandbox, sandboxId: args.sandbox, maxBytes: args.max_bytes, raw: args.raw ?? false };
      if (exit === "late") return await leaveBehind(context, args, { running, late, timeoutMs, options });
      const usedUp = await findUsedUp(exit);
      return toToolResult(exit, await showOutput(context, running.windows, options), usedUp);
    },
  });
}

/** What a process in the background answers at once; `process` follows it. */
async function runBehind(context: ToolContext, { command, cwd = ".", env = {}, user, sandbox: id }: Arguments): Promise<TextResult> {
  const sandbox = await context.sandbox(id);
  const facts = processFacts(await startBackground(sandbox, { command, cwd, env, user, signal: context.signal }));
  return textResult(facts, factLine(facts, followUp({ process_id: facts.process_id, sandbox: id })));
}

interface Leaving {
  readonly running: RunningShell;
  readonly late: LateCommands;
  readonly timeoutMs: number;
  readonly options: ShowOptions & { readonly sandbox: Sandbox };
}

/** Its time is up: it goes on in the background, or is killed where it cannot. */
async function leaveBehind(context: ToolContext, args: Arguments, { running, late, timeoutMs, options }: Leaving): Promise<TextResult> {
  const { sandbox } = options;
  const place = { command: args.command, cwd: args.cwd ?? "." };
  const { windows } = running;
  const left = await late.adopt(sandbox, running, place).catch((error: unknown) => refuseToLeave(error, context.signal));
  if (typeof left === "string") running.kill();
  const { truncated, rest, ...streams } = await showOutput(context, windows, options);
  const id = typeof left === "string" ? null : left.id;
  const facts = { exit_code: null, signal: null, duration_ms: timeoutMs, timed_out: true, truncated, process_id: id };
  const next =
    typeof left === "string"
      ? `killed at its time limit: ${left}`
      : `it goes on in the background while this server runs; ${followUp({ process_id: left.id, offset: left.printedBytes, sandbox: args.sandbox })}`;
  return textResult({ ...streams, ...facts }, commandText(streams, facts, next, ...rest));
}

/** Why the command cannot go on. */
function refuseToLeave(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  if (error instanceof BelljarError) return error.message;
  throw error;
}

function followUp(args: { readonly process_id: string; readonly offset?: number; readonly sandbox?: string | undefined }): string {
  return `follow it with process ${JSON.stringify({ action: "output", ...args })}`;
}

function toToolResult(exit: ExecExit, { truncated, rest, ...streams }: ShownOutput, usedUp: UsedUp | undefined): TextResult {
  const facts = {
    exit_code: exit.exitCode ?? null,
    signal: exit.signal ?? null,
    duration_ms: Math.round(exit.durationMs),
    timed_out: false,
    truncated,
    process_id: null,
  };
  return textResult({ ...streams, ...facts }, commandText(streams, facts, ...tellUsedUp(usedUp), ...rest));
}
