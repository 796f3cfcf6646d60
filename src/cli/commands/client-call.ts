import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { McpTool } from "../../mcp/client/mcp-client.ts";
import { toToolArguments } from "../arguments-by-schema.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import type { CliClient } from "../mcp-client/open-client.ts";
import { withClient } from "../mcp-client/open-client.ts";
import { renderResult } from "../mcp-client/render-content.ts";
import { printJson, printLine, printProblems } from "../print.ts";
import { didYouMean } from "../../files/suggest.ts";
import { usage } from "../usage.ts";

const SHOWN_MAX = 20;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  return withClient(call, context, call.positionals[0], (open) => callTool(open, call, context));
}

/** Calls a tool of a server that is open. */
export async function callTool({ client, request }: CliClient, call: CommandCall, { stdout, stderr }: CommandContext): Promise<number> {
  const [server = "", tool = "", ...words] = call.positionals;
  const { tools, problems } = await client.listTools({ ...request, server });
  const [problem] = problems;
  if (problem && !tools.some((one) => one.tool === tool)) throw problem;
  const { inputSchema } = findTool(tools, server, tool).definition;
  const args = toToolArguments(isRecord(inputSchema) ? inputSchema : {}, words);
  const result = await client.callTool({ server, tool, arguments: args }, request);
  const hasFailed = result["isError"] === true;
  if (isSet(call, "json")) printJson(stdout, result);
  else printLine(hasFailed ? stderr : stdout, renderResult(result));
  if (hasFailed) printProblems(stderr, [`The tool "${tool}" of "${server}" failed`]);
  return hasFailed ? 1 : 0;
}

function findTool(tools: readonly McpTool[], server: string, name: string): McpTool {
  const found = tools.find(({ tool }) => tool === name);
  if (found) return found;
  const names = tools.map(({ tool }) => tool);
  const more = names.length > SHOWN_MAX ? ", ..." : "";
  const known = names.length === 0 ? "It has none" : `It has ${names.slice(0, SHOWN_MAX).join(", ")}${more}`;
  throw usage(`The server "${server}" has no tool "${name}"${didYouMean(name, names) || "."} ${known}`, `belljar client list ${server}`);
}
