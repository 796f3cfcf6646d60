import type { McpClient, McpServer, McpTool } from "../../mcp/client/mcp-client.ts";
import type { RequestOptions } from "../../mcp/client/server-session.ts";
import { BelljarError } from "../../errors.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import type { CliClient } from "../mcp-client/open-client.ts";
import { withClient } from "../mcp-client/open-client.ts";
import { firstText } from "../mcp-client/render-content.ts";
import { printJson, printLine, printProblems, printTable } from "../print.ts";

const ABOUT_MAX = 100;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  return withClient(call, context, call.positionals[0], (open) => list(open, call, context));
}

/** Lists the tools of the servers that are open, or of one. */
export async function list({ client, request }: CliClient, call: CommandCall, { stdout, stderr }: CommandContext): Promise<number> {
  const [server] = call.positionals;
  const { tools, problems } = await client.listTools({ ...request, server });
  printProblems(
    stderr,
    problems.map(({ message }) => message),
  );
  if (isSet(call, "json")) printJson(stdout, { servers: await describeServers(client, server, request), tools });
  else if (tools.length === 0) printLine(stderr, "The servers have no tools.");
  else printTable(stdout, tools.map(toRow), ["SERVER", "TOOL", "ABOUT"]);
  return 0;
}

function toRow({ server, tool, definition }: McpTool): readonly string[] {
  const [about = ""] = firstText(definition["description"], definition["title"]).split("\n");
  return [server, tool, about.length > ABOUT_MAX ? `${about.slice(0, ABOUT_MAX)}...` : about];
}

async function describeServers(client: McpClient, only: string | undefined, request: RequestOptions) {
  const servers = client.servers.filter(({ name }) => only === undefined || name === only);
  return Promise.all(servers.map((server) => describe(client, server, request)));
}

async function describe(client: McpClient, { error, ...server }: McpServer, request: RequestOptions) {
  const isReady = server.state === "ready";
  const list = async (read: () => Promise<readonly unknown[]>) => (isReady ? orNull(read()) : []);
  const [resources, resourceTemplates, prompts] = await Promise.all([
    list(async () => client.listResources(server.name, request)),
    list(async () => client.listResourceTemplates(server.name, request)),
    list(async () => client.listPrompts(server.name, request)),
  ]);
  const shown = error && { code: error.code, message: error.message };
  return { ...server, error: shown ?? null, resources, resource_templates: resourceTemplates, prompts };
}

/** Null for a list that the server did not give. */
async function orNull<Value>(list: Promise<Value>): Promise<Value | null> {
  try {
    return await list;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code !== "CANCELLED") return null;
    throw cause;
  }
}
