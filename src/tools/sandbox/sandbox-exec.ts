import * as z from "zod";
import type { Tool, ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { OutputWindow } from "../../interpreter/output-window.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { openOutputProgress } from "../output-progress.ts";
import { MODEL_OUTPUT_BYTES, outputText } from "../output-text.ts";
import { pathArgument } from "../sandbox-path.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { idArgument } from "./sandbox-results.ts";

const Input = z.strictObject({
  id: idArgument(),
  cmd: z
    .string()
    .min(1)
    .max(131_071)
    .refine((command) => !command.includes("\0"), "must not hold a NUL byte")
    .describe("Command line for bash (sh where there is no bash)"),
  cwd: pathArgument("Folder to start in, by default the workspace").optional(),
  env: z
    .record(
      z
        .string()
        .max(256)
        .regex(/^[^=\0]+$/, "a variable's name must not be empty or hold = or NUL"),
      z
        .string()
        .max(65_536)
        .regex(/^[^\0]*$/, "must not hold a NUL byte"),
    )
    .optional()
    .describe("Environment variables to add"),
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

type Arguments = z.output<typeof Input>;

export function createSandboxExec(config: Pick<ToolLimits, "execTimeoutMs" | "maxOutputBytes">): Tool {
  const keptBytes = Math.min(config.maxOutputBytes, MODEL_OUTPUT_BYTES);
  return defineTool({
    name: "sandbox_exec",
    title: "Run a command in a sandbox",
    description: [
      "Runs a shell command in the sandbox that `id` names and returns its output and exit code. A non-zero exit code is a result, not an error.",
      "In your default sandbox use run_command, which needs no id.",
    ].join("\n"),
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    input: Input,
    output: Output,
    async run(context, args) {
      const sandbox = await context.sandbox(args.id);
      const stdout = new OutputWindow(keptBytes);
      const stderr = new OutputWindow(keptBytes);
      const timeoutMs = args.timeout_s === undefined ? config.execTimeoutMs : Math.ceil(args.timeout_s * 1_000);
      const exit = await runShell(sandbox, context, { ...args, timeoutMs }, (stream, chunk) =>
        (stream === "stdout" ? stdout : stderr).push(chunk),
      );
      const streams = { stdout: stdout.text(), stderr: stderr.text() };
      const facts = { exit_code: exit.exitCode ?? null, signal: exit.signal ?? null, timed_out: exit.timedOut };
      const truncated = stdout.truncated || stderr.truncated;
      return {
        content: [{ type: "text", text: `${outputText(streams)}--- result ---\n${JSON.stringify({ ...facts, truncated })}` }],
        structuredContent: { ...streams, ...facts, truncated },
      };
    },
  });
}

type OnOutput = (stream: "stdout" | "stderr", chunk: Buffer) => void;

async function runShell(sandbox: Sandbox, context: ToolContext, args: Arguments & { readonly timeoutMs: number }, onOutput: OnOutput) {
  using progress = openOutputProgress((message) => context.progress(message));
  const run = (shell: string) =>
    sandbox.guest.run({
      argv: [shell, "-c", args.cmd],
      signal: context.signal,
      timeoutMs: args.timeoutMs,
      maxOutputBytes: 0,
      ...(args.cwd !== undefined && { cwd: args.cwd }),
      ...(args.env && { env: args.env }),
      onOutput: (stream, chunk) => {
        onOutput(stream, chunk);
        progress.push(chunk);
      },
    });
  try {
    return await run("bash");
  } catch (error) {
    if (error instanceof BelljarError && error.code === "COMMAND_NOT_FOUND") return run("sh");
    throw error;
  }
}
