import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const servers = await (await openMcpServers(call, context)).list();
  if (isSet(call, "json")) printJson(stdout, servers);
  else if (servers.length === 0)
    printLine(stderr, "There are no MCP servers: `belljar server add` adds one, and BELLJAR_URL names a running Belljar.");
  else {
    const rows = servers.map(({ name, state, isolation, tools, instances, changed = 0, refused, error }) => {
      const problem = error?.message.split("\n", 1)[0] ?? (refused ? `its network refused ${refused.join(", ")}` : "");
      return [name, state, isolation ?? "-", String(tools.length), String(instances), String(changed), problem];
    });
    printTable(stdout, rows, ["NAME", "STATE", "ISOLATION", "TOOLS", "RUNNING", "CHANGED", "PROBLEM"]);
  }
  return 0;
}
