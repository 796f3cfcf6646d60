import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { toToolArguments } from "../arguments-by-schema.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { type CalledTool, type ToolCalls, withToolCalls } from "../compose/open-tool-calls.ts";
import { renderContent } from "../mcp-client/render-content.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { didYouMean } from "../../files/suggest.ts";

/** Exits with 1 if the tool answers an error, which is printed on stderr. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { isError = false, ...answer } = await withToolCalls(call, context, (tools) => callTool(call, context, tools));
  if (isSet(call, "json")) printJson(context.stdout, { ...answer, isError });
  else for (const part of answer.content) printLine(isError ? context.stderr : context.stdout, renderContent(part).replace(/\n$/, ""));
  return isError ? 1 : 0;
}

async function callTool({ positionals }: CommandCall, { stderr, signal }: CommandContext, tools: ToolCalls): Promise<CalledTool> {
  const [named = "", ...words] = positionals;
  const tool = await findTool(tools, named, signal);
  const args = toToolArguments(tool.inputSchema, words);
  const answer = await withProgress(stderr, `Calling ${tool.name}`, tools.call(tool.name, args, signal));
  signal.throwIfAborted();
  return answer;
}

/** By its own name, or by that of the file that it was added from. */
async function findTool(tools: ToolCalls, name: string, signal: AbortSignal) {
  const listed = await tools.list(signal);
  const found = listed.find((tool) => tool.name === name);
  if (found) return found;
  const own = await toolOfUnit(
    tools,
    name,
    listed.map((tool) => tool.name),
  );
  const other = listed.find((tool) => tool.name === own);
  if (other) return other;
  throw new BelljarError(
    "TOOL_NOT_FOUND",
    `You may not call "${name}": it is in none of the toolsets that are served, changes something where tools only read, or is outside your token's scopes`,
  );
}

async function toolOfUnit({ units }: ToolCalls, name: string, names: readonly string[]): Promise<string | undefined> {
  const unit = await units.get(LOCAL, name).catch((cause: unknown) => {
    if (!(cause instanceof BelljarError) || cause.code !== "TOOL_NOT_FOUND") throw cause;
    throw new BelljarError("TOOL_NOT_FOUND", `There is no tool "${name}"${didYouMean(name, names) || ": see belljar tool list"}`, {
      cause,
    });
  });
  if (unit.state === "disabled")
    throw new BelljarError("TOOL_NOT_FOUND", `"${name}" is disabled: belljar tool enable ${name} gives it back`);
  if (unit.state !== "live")
    throw new BelljarError("TOOL_NOT_FOUND", `"${name}" is a draft: belljar tool publish ${name} gives it to callers`);
  const own = unit.tools.map((tool) => tool.name);
  if (own.length > 1) throw new BelljarError("USAGE", `"${name}" has several tools, call one of them: ${own.join(", ")}`);
  return own[0];
}
