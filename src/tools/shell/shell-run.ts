import * as z from "zod";
import type { TextResult, Tool, ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { ShellSessions } from "../../interpreter/lasting/shell-sessions.ts";
import { tellUsedUp, watchUsedUp } from "../../sandbox/used-up.ts";
import { openOutputProgress } from "../output-progress.ts";
import { commandText } from "../output-text.ts";
import { acceptCommand } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { maxBytesArgument, rawArgument } from "../max-bytes.ts";
import { showOutput } from "../shown-output.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { commandArgument, HOUR_MS, timeoutArgument } from "./command-argument.ts";

export function sessionArgument() {
  return z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 letters, digits, dots, dashes or underscores")
    .optional();
}

const Input = z.strictObject({
  session: sessionArgument().describe('Name of the session, which is made on first use; default "main"'),
  command: commandArgument("Command line for bash"),
  timeout_ms: timeoutArgument("The command is interrupted after so long; at most an hour"),
  max_bytes: maxBytesArgument(),
  raw: rawArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  session: z.string(),
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z
    .number()
    .int()
    .nullable()
    .describe("As the shell says: 128 + N when signal N ended the command; null when the shell was killed"),
  cwd: z.string().nullable().describe("The session's folder afterwards; null when it has ended"),
  duration_ms: z.number(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe("The middle of a long output was cut"),
  created: z.boolean().describe("The session was made by this call: nothing of an earlier one is left"),
  ended: z.boolean().describe("The session is gone; the next call makes a new one"),
});

export function createShellRun(sessions: ShellSessions, config: Pick<ToolLimits, "execTimeoutMs">): Tool {
  return defineTool({
    name: "shell_run",
    title: "Run a command in a persistent shell",
    description: [
      "Runs a command in a named bash that stays between calls: its folder, variables, functions and options survive. Standard input is empty.",
      "Use it for work that builds on what was set before, as an activated environment; run_command is for single commands.",
      "A non-zero exit code is a result. A command that runs too long is interrupted as by Ctrl-C; a shell that does not come back is ended, and",
      "ended says so. Calls on one session run one after the other. Its background jobs (&) end with it: use run_background for what must stay.",
      "A session lives while this server and its sandbox do; the command exit ends it.",
    ].join("\n"),
    toolset: "shell",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: acceptCommand,
    input: Input,
    value: Output,
    run: (context, args) => runInSession(context, args, { sessions, config }),
  });
}

export interface SessionRun {
  readonly session?: string | undefined;
  readonly command: string;
  readonly timeout_ms?: number | undefined;
  readonly max_bytes?: number | undefined;
  readonly raw?: boolean | undefined;
  readonly sandbox?: string | undefined;
}

export interface SessionMeans {
  readonly sessions: ShellSessions;
  readonly config: Pick<ToolLimits, "execTimeoutMs">;
}

export async function runInSession(context: ToolContext, args: SessionRun, { sessions, config }: SessionMeans): Promise<TextResult> {
  const { session = "main", command, timeout_ms: given, max_bytes: maxBytes, raw = false, sandbox: id } = args;
  const sandbox = await context.sandbox(id);
  const timeoutMs = given ?? Math.min(config.execTimeoutMs, HOUR_MS);
  const findUsedUp = await watchUsedUp(sandbox);
  const startedAt = performance.now();
  using progress = openOutputProgress((told) => context.progress(told));
  const onOutput = (chunk: Buffer) => progress.push(chunk);
  const { result, created } = await sessions.run(sandbox, session, { command, timeoutMs, signal: context.signal, onOutput });
  const usedUp = await findUsedUp(result);
  const { truncated, rest, ...streams } = await showOutput(context, result.windows, { sandbox, sandboxId: id, maxBytes, raw });
  const facts = {
    session,
    exit_code: result.exitCode ?? null,
    cwd: result.cwd ?? null,
    duration_ms: Math.round(performance.now() - startedAt),
    timed_out: result.timedOut,
    truncated,
    created,
    ended: result.ended,
  };
  return textResult({ ...streams, ...facts }, commandText(streams, facts, ...tellUsedUp(usedUp), ...rest));
}
