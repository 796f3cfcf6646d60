import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { printJson } from "../print.ts";
import { printServer } from "../print-server.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const server = await (await openMcpServers(call, context)).details(call.positionals[0] ?? "");
  if (isSet(call, "json")) printJson(context.stdout, server);
  else printServer(context.stdout, server);
  return 0;
}
