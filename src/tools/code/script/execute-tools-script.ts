import * as z from "zod";
import { defineTool, type TextResult, type Tool, type ToolContext } from "../../../catalog/tool.ts";
import { textResult } from "../../../catalog/tool-result.ts";
import type { CallTool } from "../../../dynamic/harness/harness-calls.ts";
import { type RunScript, SCRIPT_CALLS, type ScriptOutcome } from "../../../dynamic/run/script.ts";
import { BelljarError } from "../../../errors.ts";
import { maxBytesArgument, SHOWN_BYTES } from "../../max-bytes.ts";
import { closeLine, factLine, printedText } from "../../output-text.ts";
import { HOUR_MS, timeoutArgument } from "../../shell/command-argument.ts";
import { showOutput } from "../../shown-output.ts";
import type { ToolLimits } from "../../tool-limits.ts";
import { type ApprovedCalls, approveScript } from "./approve-script.ts";
import { type Described, describeTools } from "./describe-tools.ts";
import { scriptPaths } from "./script-paths.ts";
import { boundTexts, returnedContent, toScriptResult } from "./script-value.ts";

/** Of what it prints. */
const PRINTED_BYTES = 4_096;
const APPROVED_MAX = 50;

const Input = z
  .strictObject({
    code: z
      .string()
      .max(1_048_576)
      .refine((code) => !code.includes("\0"), "must not hold a NUL byte")
      .optional()
      .describe("The body of a function; what it returns is the result"),
    language: z.enum(["javascript", "typescript", "python"]).optional().describe("Default javascript"),
    describe: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(50)
      .optional()
      .describe("In place of code: returns the signatures of these tools, or of all of a server"),
    calls: z
      .record(z.string().min(1).max(200), z.number().int().min(1).max(SCRIPT_CALLS.most))
      .refine((calls) => Object.keys(calls).length <= APPROVED_MAX, `at most ${APPROVED_MAX} tools`)
      .optional()
      .describe('How often it calls tools that need a person\'s approval, as {"github.merge": 2}; the person is asked once'),
    timeout_ms: timeoutArgument("The script is ended after so long. At most an hour"),
    max_bytes: maxBytesArgument(),
  })
  .refine(({ code, describe }) => (code === undefined) !== (describe === undefined), "give either code or describe");

const Value = z.object({
  code: z.string().optional().describe("Of an error"),
  returned: z.unknown().describe("What the script returned"),
  signatures: z.string().optional().describe("Of the tools in `describe`"),
  stdout: z.string(),
  stderr: z.string(),
  calls: z.record(z.string(), z.number().int()).describe("How often it called each tool"),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string().nullable() }).optional(),
});

type Arguments = z.output<typeof Input>;

export interface ToolsScriptOptions {
  /** Absent: no scripts are run here. */
  readonly runScript: RunScript;
  readonly config: Pick<ToolLimits, "execTimeoutMs">;
}

export function createExecuteToolsScript({ runScript, config }: ToolsScriptOptions): Tool {
  return defineTool({
    name: "execute_tools_script",
    title: "Run a script that calls tools",
    description: [
      "Runs a JavaScript or Python program that calls any tools you have as functions, many in one step; only what it returns comes back to you.",
      'JavaScript: `const found = await tools.github.search({ query: "x" }); return found.items.length;` Python: `return tools.github.search(query="x")`.',
      'A server\'s tools are at tools.SERVER.TOOL, every tool at tools.FULL_NAME. See arguments and results with describe: ["github"] first.',
      `A function gives the tool's structured result, else its text. A failed call throws ToolError with code and message. At most ${SCRIPT_CALLS.most} calls, ${SCRIPT_CALLS.concurrent} at once.`,
      "It has no network and no files of yours: those it reaches by tools alone, as tools.read_file.",
    ].join("\n"),
    toolset: "code",
    shownBeside: "proxied",
    callsTools: true,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    input: Input,
    value: Value,
    async run(context, args) {
      const tools = context.tools.forCode();
      const described: Described = { tools, paths: scriptPaths(tools) };
      if (args.describe) return describeResult(described, args.describe, args);
      return runScriptOf({ runScript, config }, context, described, args);
    },
  });
}

function describeResult(described: Described, wanted: readonly string[], { language = "javascript" }: Arguments): TextResult {
  const signatures = describeTools(described, wanted, language);
  return textResult({ returned: null, signatures, stdout: "", stderr: "", calls: {} }, signatures);
}

// eslint-disable-next-line max-params -- what runs, for whom, with what
async function runScriptOf(
  { runScript, config }: ToolsScriptOptions,
  context: ToolContext,
  described: Described,
  { code = "", language = "javascript", calls: wanted = {}, timeout_ms, max_bytes = SHOWN_BYTES }: Arguments,
): Promise<TextResult> {
  const { paths } = described;
  const approved = await approveScript(context, described, { language, code, calls: wanted });
  const calls = new Map<string, number>();
  const startedAt = performance.now();
  const outcome = await runScript(context.principal, {
    language,
    code,
    tools: paths,
    callTool: countedCalls(context, { described, approved }, calls),
    timeoutMs: timeout_ms ?? Math.min(config.execTimeoutMs, HOUR_MS),
    signal: context.signal,
  });
  return toResult(context, outcome, { calls, max_bytes, durationMs: performance.now() - startedAt });
}

interface Allowed {
  readonly described: Described;
  readonly approved: ApprovedCalls;
}

/** Calls of the script, whoever wrote them: of the tools that it was given, through the door. */
function countedCalls(context: ToolContext, { described, approved }: Allowed, calls: Map<string, number>): CallTool {
  const known = new Map(described.tools.map((tool) => [tool.name, tool]));
  let count = 0;
  return async (name, args, signal) => {
    const tool = known.get(name);
    if (!tool) throw new BelljarError("TOOL_NOT_FOUND", `This script has no tool ${JSON.stringify(name.slice(0, 100))}`);
    calls.set(name, (calls.get(name) ?? 0) + 1);
    const isApproved = approved.use(tool);
    const result = await context.call(name, args, { signal, isForeign: true, keepsSession: true, isApproved });
    context.progress({ progress: ++count, message: name });
    return toScriptResult(result);
  };
}

interface Ran {
  readonly calls: ReadonlyMap<string, number>;
  readonly max_bytes: number;
  readonly durationMs: number;
}

async function toResult(
  context: ToolContext,
  { answer, printed }: ScriptOutcome,
  { calls, max_bytes, durationMs }: Ran,
): Promise<TextResult> {
  const output = await showOutput(context, printed, { maxBytes: Math.min(PRINTED_BYTES, max_bytes) });
  const { stdout, stderr, truncated, rest } = output;
  const count = [...calls.values()].reduce((sum, one) => sum + one, 0);
  const facts = factLine({ calls: count, duration_ms: Math.round(durationMs), truncated }, ...rest);
  const below = stdout === "" && stderr === "" ? facts : `It printed:\n${printedText(output)}${facts}`;
  const value = { stdout, stderr, calls: Object.fromEntries(calls) };
  if (answer.type === "returned") {
    const content = boundTexts(returnedContent(answer.value), max_bytes, context);
    return textResult({ returned: answer.value ?? null, ...value }, [...content, { type: "text", text: below }]);
  }
  const { name, message } = answer;
  // Empty where no line of the script is to blame.
  const traceback = answer.traceback || null;
  const text = boundTexts([{ type: "text", text: traceback ?? `${name}: ${message}` }], max_bytes, context);
  const error = { name, message, traceback };
  return {
    ...textResult({ code: "TOOL_FAILED", returned: null, ...value, error }, [...text, { type: "text", text: closeLine(below) }]),
    isError: true,
  };
}
