import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const lines = await (await openMcpServers(call, context)).logs(call.positionals[0] ?? "");
  if (isSet(call, "json")) printJson(context.stdout, { lines });
  else for (const line of lines) printLine(context.stdout, line);
  return 0;
}
