import * as z from "zod";
import type { Accept } from "../../catalog/accept.ts";
import type { Tool, ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { CodeResult } from "../../interpreter/lasting/contexts.ts";
import { runCode } from "../../interpreter/lasting/contexts.ts";
import { heldBytes } from "../../interpreter/output-window.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { tellUsedUp } from "../../sandbox/used-up.ts";
import { maxBytesArgument, rawArgument } from "../max-bytes.ts";
import { openOutputProgress } from "../output-progress.ts";
import { factLine, printedText } from "../output-text.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { envArgument, HOUR_MS, timeoutArgument } from "../shell/command-argument.ts";
import type { ShownOutput } from "../shown-output.ts";
import { roomBelow, showOutput } from "../shown-output.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { boundPictures, showValues } from "./shown-values.ts";

/** What code for a context needs, whatever names its sandbox. */
export const codeArguments = {
  code: z
    .string()
    .max(1_048_576)
    .refine((code) => !code.includes("\0"), "must not hold a NUL byte")
    .describe("The code to run"),
  lang: z.string().min(1).max(40).optional().describe("python (default), javascript, typescript or bash"),
  context_id: z.string().min(1).max(64).optional().describe("Context to go on with; default: the one of the language"),
  env: envArgument(),
  timeout_ms: timeoutArgument("The code is interrupted after so long, and its variables stay. At most an hour"),
};

/** Models write `language` from habit. One that differs from `lang` stays, and is refused. */
export const acceptCode: Accept = ({ language, ...args }) => {
  if (language === undefined || language === args["lang"]) return args;
  return args["lang"] === undefined ? { ...args, lang: language } : { ...args, language };
};

type CodeArguments = z.output<z.ZodObject<typeof codeArguments>>;

const Input = z.strictObject({
  ...codeArguments,
  max_bytes: maxBytesArgument(),
  raw: rawArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

export const CodeValue = z.object({
  stdout: z.string(),
  stderr: z.string(),
  results: z
    .array(z.object({ type: z.enum(["result", "display"]), data: z.record(z.string(), z.unknown()) }))
    .describe("By media type; `result` is the last expression's value"),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).optional(),
  execution_count: z.number().int().nullable(),
  context_id: z.string(),
  exit_code: z.number().int().nullable().describe("Of bash"),
  duration_ms: z.number(),
  timed_out: z.boolean(),
  fresh: z.boolean().describe("There were no variables of earlier runs"),
  truncated: z.boolean(),
});

export type CodeOptions = Pick<ToolLimits, "execTimeoutMs" | "maxOutputBytes">;

export function createRunCode(config: CodeOptions): Tool {
  return defineTool({
    name: "run_code",
    title: "Run code in a context",
    description: [
      "Runs code in a Python, JavaScript, TypeScript or bash interpreter of your sandbox that keeps its variables, imports and folder between calls,",
      "as a notebook does. Shows what it prints, the last expression's value, tables and charts (as pictures). Calls in one context run in order.",
    ].join("\n"),
    toolset: "code",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: acceptCode,
    input: Input,
    value: CodeValue,
    async run(context, args) {
      const sandbox = await context.sandbox(args.sandbox);
      const result = await runInContext(context, sandbox, args, config);
      const raw = args.raw ?? false;
      const output = await showOutput(context, result.windows, { sandbox, sandboxId: args.sandbox, maxBytes: args.max_bytes, raw });
      const error = result.lost === undefined ? result.error : undefined;
      const values = showValues(result, { room: roomBelow(output, args.max_bytes), raw, error });
      const value = toCodeValue(result, output);
      const { execution_count, exit_code, duration_ms, timed_out, context_id } = value;
      const facts = { context_id, execution_count, exit_code, duration_ms, timed_out, truncated: output.truncated || values.truncated };
      const text = `${printedText(output)}${values.text}${factLine(facts, ...tellContext(result), ...output.rest)}`;
      return { ...textResult(value, [{ type: "text", text }, ...values.pictures]), isError: value.error !== undefined };
    },
  });
}

export async function runInContext(context: ToolContext, sandbox: Sandbox, args: CodeArguments, config: CodeOptions): Promise<CodeResult> {
  using progress = openOutputProgress((told) => context.progress(told));
  return await runCode(sandbox, {
    code: args.code,
    language: args.lang,
    contextId: args.context_id,
    env: args.env,
    timeoutMs: args.timeout_ms ?? Math.min(config.execTimeoutMs, HOUR_MS),
    signal: context.signal,
    maxOutputBytes: heldBytes(config),
    onOutput: (chunk) => progress.push(chunk),
  });
}

export function toCodeValue(result: CodeResult, { stdout, stderr, truncated }: Pick<ShownOutput, "stdout" | "stderr" | "truncated">) {
  const error = result.error ?? toError(result);
  return {
    stdout,
    stderr,
    results: boundPictures(result.values).map(({ type, data }) => ({ type, data: { ...data } })),
    ...(error && { error }),
    execution_count: result.executionCount ?? null,
    context_id: result.contextId,
    exit_code: result.exitCode ?? null,
    duration_ms: Math.round(result.durationMs),
    timed_out: result.timedOut,
    fresh: result.isFresh,
    truncated: truncated || result.more > 0,
  };
}

/** An interpreter that ended, or code that was interrupted without a word of its own. */
function toError(result: CodeResult): z.output<typeof CodeValue>["error"] {
  const [message] = tellContext(result);
  if (!result.lost && !result.timedOut) return undefined;
  return { name: result.lost ? "ContextEnded" : "Interrupted", message: message ?? "it was interrupted at its time limit", traceback: "" };
}

/** What the caller must know of the context, in words for the last line. */
export function tellContext({ lost, timedOut, isFresh, more }: CodeResult): readonly string[] {
  const notes = more > 0 ? [`${more} more values were left out`] : [];
  if (lost) return [`the interpreter ${describeEnd(lost)}${lost.startsAgain ? "; it starts again without its variables" : ""}`, ...notes];
  if (timedOut) return ["interrupted at its time limit; its variables stay", ...notes];
  return isFresh ? ["a new context", ...notes] : notes;
}

function describeEnd({ exit, usedUp, startsAgain }: NonNullable<CodeResult["lost"]>): string {
  if (!startsAgain) return "was removed";
  const [why] = tellUsedUp(usedUp);
  if (why !== undefined) return `was ended: ${why}`;
  if (exit?.exitCode !== undefined) return `exited with code ${exit.exitCode}`;
  return exit?.signal === undefined || exit.signal === "SIGKILL" ? "was killed" : `was ended by ${exit.signal}`;
}
