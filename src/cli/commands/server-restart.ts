import type { CommandCall, CommandContext } from "../command.ts";
import { findMcpServer, openMcpServers } from "../compose/open-mcp-servers.ts";
import { plural, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const name = call.positionals[0] ?? "";
  const servers = await openMcpServers(call, context);
  await servers.restart(name);
  const { state, tools, error } = await findMcpServer(servers, name);
  printLine(context.stdout, error?.message ?? `${name} is ${state}, with ${plural(tools.length, "tool")}`);
  return error ? 1 : 0;
}
