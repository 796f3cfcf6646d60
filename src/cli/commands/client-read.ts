import { BelljarError } from "../../errors.ts";
import type { McpClient } from "../../mcp/client/mcp-client.ts";
import type { RequestOptions } from "../../mcp/client/server-session.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import type { CliClient } from "../mcp-client/open-client.ts";
import { withClient } from "../mcp-client/open-client.ts";
import { renderContents } from "../mcp-client/render-content.ts";
import { printJson, printLine } from "../print.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  return withClient(call, context, textOption(call, "server"), (open) => read(open, call, context));
}

/** Reads a resource of a server that is open. */
export async function read({ client, request }: CliClient, call: CommandCall, { stdout }: CommandContext): Promise<number> {
  const [uri = ""] = call.positionals;
  const named = textOption(call, "server");
  const result = await client.readResource(named ?? (await findServer(client, uri, request)), uri, request);
  if (isSet(call, "json")) printJson(stdout, result);
  else printLine(stdout, renderContents(result["contents"]));
  return 0;
}

/** The only server that has resources, else the only one that lists this one: a URI is never shown to a server that may not know it. */
async function findServer(client: McpClient, uri: string, request: RequestOptions): Promise<string> {
  const able = client.servers.filter(({ state, capabilities }) => state === "ready" && capabilities?.["resources"] !== undefined);
  const [only] = able;
  if (!only) throw new BelljarError("RESOURCE_NOT_FOUND", "No server that is ready has resources");
  if (able.length === 1) return only.name;
  const holders = await Promise.all(able.map(async ({ name }) => ((await lists(client, name, uri, request)) ? [name] : [])));
  const [holder, ...others] = holders.flat();
  if (holder !== undefined && others.length === 0) return holder;
  const names = (holder === undefined ? able.map(({ name }) => name) : [holder, ...others]).join(", ");
  throw usage(`${holder === undefined ? "No server lists" : "Several servers list"} ${uri}: name one of ${names} with --server`, HELP);
}

const HELP = "belljar client read --help";

async function lists(client: McpClient, server: string, uri: string, request: RequestOptions): Promise<boolean> {
  try {
    return (await client.listResources(server, request)).some((resource) => resource["uri"] === uri);
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code !== "CANCELLED") return false;
    throw cause;
  }
}
