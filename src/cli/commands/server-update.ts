import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const name = call.positionals[0] ?? "";
  const servers = await openMcpServers(call, context);
  const { before, now } = await withProgress(stderr, "Installing the newest version", servers.update(name));
  if (isSet(call, "json")) printJson(stdout, { before, now });
  else if (before === now) printLine(stdout, `${name} has the newest version, ${now}`);
  else printLine(stdout, `${name}: ${before ?? "not installed"} -> ${now}`);
  return 0;
}
