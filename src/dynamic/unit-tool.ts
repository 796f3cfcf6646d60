import type { JsonSchemas } from "../catalog/json-schemas.ts";
import { textResult } from "../catalog/tool-result.ts";
import type { Tool, ToolContext, ToolResult } from "../catalog/tool.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { CallOutcome, UnitRunner } from "./run/unit-runner.ts";
import type { UnitStatistics } from "./unit-statistics.ts";
import type { ReadTool, UnitHead, UnitVersion } from "./unit.ts";

/** The toolset of users' tools, for scopes of tokens. */
export const USERS_TOOLSET = "tools";

/** Of tools that say nothing of themselves. */
const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true } as const;
const PRINTED_CHARACTERS = 4_000;

export interface UnitToolParts {
  readonly runner: UnitRunner;
  readonly schemas: JsonSchemas;
  readonly statistics: UnitStatistics;
}

/** A unit, and the version of it that callers have. */
export interface LiveUnit {
  readonly head: UnitHead;
  readonly version: UnitVersion;
}

/** One tool of a unit, for the catalog. Throws `ARGUMENTS_INVALID` for a schema that cannot be used. */
export function unitTool(parts: UnitToolParts, unit: LiveUnit, read: ReadTool): Tool {
  const { name, title = name, description, annotations, inputSchema, outputSchema } = read;
  const { owner } = unit.head;
  return {
    name,
    title,
    description: description === "" ? title : description,
    toolset: USERS_TOOLSET,
    origin: "dynamic",
    annotations: { ...HINTS, ...annotations },
    input: parts.schemas.read(inputSchema, owner),
    ...(outputSchema && { output: parts.schemas.read(outputSchema, owner) }),
    run: (context, args) =>
      parts.statistics.counted(unit.head, () => callUnit(parts.runner, { unit, read }, context, args as Readonly<Record<string, unknown>>)),
  };
}

interface CalledTool {
  readonly unit: LiveUnit;
  readonly read: ReadTool;
}

/** A session is one caller's, through one client, with one version. */
// eslint-disable-next-line max-params -- as a tool's `run`
async function callUnit(
  runner: UnitRunner,
  { unit: { head, version }, read }: CalledTool,
  context: ToolContext,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  const { principal, clientId, signal } = context;
  const code = { owner: head.owner, unit: head.name, version: version.number };
  context.runs(code);
  const session = JSON.stringify([principal.id, clientId ?? null, head.owner, head.name, version.number, version.createdAt.getTime()]);
  const outcome = await runner.call(
    principal,
    { owner: head.owner, name: head.name, ...version },
    {
      tool: read,
      arguments: args,
      signal,
      entered: ({ id }) => context.runs({ ...code, sandbox: id }),
      progress: (progress) => context.progress(progress),
      log: (level, message) => context.log(level, message),
      callTool: (name, args, within) => callDeclared({ context, unit: { head, version } }, name, args, within),
      ...(version.spec.reuse === "session" && clientId !== undefined && { session }),
    },
  );
  const printed = printedText(outcome);
  if (printed !== "") context.log("info", printed);
  return toResult(read, outcome);
}

/** A call by the code: with its caller's rights, of what the unit declares. Rejects with `FORBIDDEN`, and as the call does. */
// eslint-disable-next-line max-params -- as the harness asks for it
async function callDeclared(
  { context, unit: { head, version } }: { readonly context: ToolContext; readonly unit: LiveUnit },
  name: string,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { calls = [] } = version.spec;
  if (!calls.includes(name)) throw forbidden(`This tool declares no call of "${name}": name it in its calls`);
  // What its caller may do is not for a stranger's code to do.
  if (head.owner !== context.principal.id && head.owner !== LOCAL.id)
    throw forbidden("A tool that somebody shares with you calls none of yours");
  return context.call(name, args, { signal, isForeign: true });
}

function forbidden(message: string): BelljarError {
  return new BelljarError("FORBIDDEN", message);
}

/** The answer of a call, in its faces. */
export function toResult(read: ReadTool, { answer, printed }: CallOutcome): ToolResult {
  if (answer.type === "error") {
    const { name, message, traceback } = answer;
    const stderr = printed.stderr.text().trim().slice(-PRINTED_CHARACTERS);
    const text = [`${name}: ${message}`, traceback, stderr && `It printed:\n${stderr}`].filter(Boolean).join("\n\n");
    return { ...textResult({ code: "TOOL_FAILED", name, message, traceback: traceback ?? null }, text), isError: true };
  }
  const { content, structured } = answer;
  if (read.outputSchema && !structured) {
    const message = "The tool says that it answers structure, and did not";
    return { ...textResult({ code: "TOOL_FAILED", name: "ResultError", message, traceback: null }, message), isError: true };
  }
  if (structured) return { value: structured, structured, content: [{ type: "text", text: JSON.stringify(structured) }] };
  const blocks = content.length > 0 ? content : [{ type: "text", text: "The tool answered nothing." } as const];
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return textResult(texts.length === content.length ? texts.join("\n") : content, blocks);
}

function printedText({ printed }: CallOutcome): string {
  const texts = [printed.stdout.text(), printed.stderr.text()].filter((text) => text !== "");
  return texts.join("\n").slice(0, PRINTED_CHARACTERS);
}
