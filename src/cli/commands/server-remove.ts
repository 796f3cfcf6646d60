import type { CommandCall, CommandContext } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = ""] = call.positionals;
  await (await openMcpServers(call, context)).remove(name);
  printLine(context.stdout, name);
  return 0;
}
