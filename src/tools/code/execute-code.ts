import * as z from "zod";
import type { TextResult, Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Interpreter } from "../../interpreter/interpreter.ts";
import { heldBytes } from "../../interpreter/output-window.ts";
import type { Program, ProgramResult } from "../../interpreter/program.ts";
import { loadSnippet } from "../../interpreter/snippets.ts";
import { USED_UP } from "../../sandbox/used-up.ts";
import { openOutputProgress } from "../output-progress.ts";
import { factLine, outputText } from "../output-text.ts";
import { maxBytesArgument, rawArgument } from "../max-bytes.ts";
import { sandboxArgument } from "../sandbox-argument.ts";
import { describeExecuteCode, RULE } from "./describe-execute-code.ts";
import type { ShownFiles } from "./shown-files.ts";
import { LeftFileValue, showFiles } from "./shown-files.ts";
import type { ShownOutput } from "../shown-output.ts";
import { roomBelow, showOutput } from "../shown-output.ts";
import { otherNames } from "../../catalog/accept.ts";
import type { ToolLimits } from "../tool-limits.ts";

export interface ExecuteCodeOptions {
  readonly interpreter: Interpreter;
  readonly config: Pick<ToolLimits, "maxOutputBytes">;
  readonly snippetsDirectory?: string;
}

const CODE_MAX = 10 * 1_048_576;

const Input = z
  .strictObject({
    language: z.string().min(1).max(40).optional().describe("Of entrypoint_code"),
    lang: z.string().min(1).max(40).optional().describe("As language"),
    entrypoint_code: z.string().max(CODE_MAX).optional().describe("The program's main file, as text."),
    entrypoint_filename: z
      .string()
      .min(1)
      .max(1_024)
      .optional()
      .describe('Name of the main file, as "main.py". Absent: the usual one of the language'),
    additional_files: z
      .array(
        z.strictObject({
          filename: z.string().max(1_024).describe('Name or path below the program\'s folder, as "lib/util.py"'),
          content: z.string().max(CODE_MAX).describe("Content of the file, as text"),
        }),
      )
      .max(255)
      .optional()
      .describe("More files, in the folder that the program starts in"),
    snippet_name: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("Name of a stored snippet, without extension. Excludes language and entrypoint_code"),
    max_bytes: maxBytesArgument(),
    raw: rawArgument(),
    sandbox: sandboxArgument("a fresh sandbox, which is gone when the program has ended"),
  })
  .superRefine((args, context) => {
    if (args.language !== undefined && args.lang !== undefined && args.language !== args.lang) {
      context.addIssue({ code: "custom", path: ["lang"], message: "differs from language; give one of the two" });
    }
    const problem = findSourceProblem(args);
    if (problem) context.addIssue({ code: "custom", message: `${RULE}: ${problem}` });
  });

type Arguments = z.output<typeof Input>;
type Languages = Interpreter["languages"];

const Output = z.object({
  status: z.enum(["success", "error", "timeout"]),
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable().describe("null when a signal ended the program"),
  duration_ms: z.number(),
  truncated: z.boolean().describe("The middle of a long output was cut"),
  files: z.array(LeftFileValue).describe("What the program left in its folder"),
});

/** One-shot programs. The names and the result's text are those that callers of an `execute_code` know. */
export function createExecuteCode({ interpreter, config, snippetsDirectory }: ExecuteCodeOptions): Tool {
  const maxOutputBytes = heldBytes(config);
  return defineTool({
    name: "execute_code",
    title: "Execute code",
    description: describeExecuteCode(interpreter.languages),
    toolset: "code",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    accept: otherNames({ code: "entrypoint_code", filename: "entrypoint_filename" }),
    input: Input,
    value: Output,
    async run(context, args) {
      const program = await toProgram(args, snippetsDirectory, interpreter.languages);
      using progress = openOutputProgress((told) => context.progress(told));
      const sandbox = args.sandbox === undefined ? undefined : await context.sandbox(args.sandbox);
      const result = await interpreter.runProgram(context.principal, program, {
        signal: context.signal,
        maxOutputBytes,
        bringFiles: true,
        tellsRefusals: true,
        onOutput: (_stream, chunk) => progress.push(chunk),
        ...(sandbox && { sandbox }),
      });
      const options = { sandbox, sandboxId: args.sandbox, maxBytes: args.max_bytes, raw: args.raw ?? false };
      const output = await showOutput(context, result.windows, options);
      const files = showFiles(context, result.left, { room: roomBelow(output, args.max_bytes), raw: options.raw });
      return toToolResult(result, output, files);
    },
  });
}

function findSourceProblem(args: Pick<Arguments, "language" | "lang" | "entrypoint_code" | "snippet_name">): string | undefined {
  const language = args.language ?? args.lang;
  if (args.snippet_name !== undefined) {
    return language !== undefined || args.entrypoint_code !== undefined ? "they exclude each other" : undefined;
  }
  if (language === undefined) return "language is missing";
  return args.entrypoint_code === undefined ? "entrypoint_code is missing" : undefined;
}

async function toProgram(args: Arguments, snippetsDirectory: string | undefined, languages: Languages): Promise<Program> {
  const source = args.snippet_name === undefined ? undefined : await openSnippet(args.snippet_name, snippetsDirectory, languages);
  const entryFile = args.entrypoint_filename ?? source?.fileName;
  return {
    language: source?.language ?? args.language ?? args.lang ?? "",
    code: source?.code ?? args.entrypoint_code ?? "",
    ...(entryFile !== undefined && { entryFile }),
    files: (args.additional_files ?? []).map(({ filename, content }) => ({ name: filename, content })),
  };
}

async function openSnippet(name: string, directory: string | undefined, languages: Languages) {
  if (directory !== undefined) return loadSnippet(directory, name, languages);
  throw new BelljarError(
    "SNIPPET_NOT_FOUND",
    "This server has no snippets; start it with --snippets DIR, or give language and entrypoint_code",
  );
}

function toToolResult(result: ProgramResult, { truncated, rest, ...streams }: ShownOutput, files: ShownFiles): TextResult {
  const { status } = result;
  const failure = status === "success" ? "" : `Execution Failed (${status}): ${describeFailure(result)}\n\n`;
  const facts = {
    status,
    ...streams,
    exit_code: result.exitCode ?? null,
    duration_ms: Math.round(result.durationMs),
    truncated,
    files: files.values,
  };
  const { exit_code, duration_ms } = facts;
  const refused = result.refused.map((line) => `${line}\n`).join("");
  const text = `${failure}${outputText(streams)}${refused}${files.text}${factLine({ exit_code, duration_ms, truncated }, ...rest)}`;
  return { ...textResult(facts, [{ type: "text", text }, ...files.pictures]), isError: status !== "success" };
}

function describeFailure({ status, phase, exitCode, signal, outOfMemory, diskFull, durationMs }: ProgramResult): string {
  const subject = phase === "compile" ? "The compiler" : "The program";
  if (status === "timeout") return `${subject} was stopped after ${Math.round(durationMs)} ms in all, the time limit`;
  const ending = exitCode === undefined ? `was ended by ${signal ?? "a signal"}` : `exited with code ${exitCode}`;
  return [`${subject} ${ending}`, ...(outOfMemory ? [USED_UP.memory] : []), ...(diskFull ? [USED_UP.disk] : [])].join(", and ");
}
