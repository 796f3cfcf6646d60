import { BelljarError } from "../../errors.ts";
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

/**
 * Calls a tool of a server that is open. A name that the server does not list is the server's to refuse: it may have tools that its list does not
 * show, or not yet. Throws `USAGE` if it does refuse it, with what it lists.
 */
export async function callTool({ client, request }: CliClient, call: CommandCall, { stdout, stderr }: CommandContext): Promise<number> {
  const [server = "", tool = "", ...words] = call.positionals;
  const { tools, problems } = await client.listTools({ ...request, server });
  const listed = tools.find((one) => one.tool === tool);
  const [problem] = problems;
  if (problem && !listed) throw problem;
  const schema = listed?.definition["inputSchema"];
  const args = toToolArguments(isRecord(schema) ? schema : {}, words);
  const unlisted = listed ? undefined : `The server "${server}" lists no tool "${tool}"${adviceFor(tool, tools)}`;
  const result = await client.callTool({ server, tool, arguments: args }, request).catch((cause: unknown) => {
    throw unlisted === undefined ? cause : unlistedError(cause, unlisted, server);
  });
  const hasFailed = result["isError"] === true;
  if (isSet(call, "json")) printJson(stdout, result);
  else printLine(hasFailed ? stderr : stdout, renderResult(result));
  if (hasFailed) printProblems(stderr, [unlisted ?? `The tool "${tool}" of "${server}" failed`]);
  return hasFailed ? 1 : 0;
}

function unlistedError(cause: unknown, unlisted: string, server: string): unknown {
  if (!(cause instanceof BelljarError) || cause.code !== "SERVER_REFUSED") return cause;
  return usage(`${unlisted}. ${cause.message}`, `belljar client list ${server}`);
}

function adviceFor(name: string, tools: readonly McpTool[]): string {
  const names = tools.map(({ tool }) => tool);
  const more = names.length > SHOWN_MAX ? ", ..." : "";
  const known = names.length === 0 ? "It lists none" : `It lists ${names.slice(0, SHOWN_MAX).join(", ")}${more}`;
  return `${didYouMean(name, names) || "."} ${known}`;
}
