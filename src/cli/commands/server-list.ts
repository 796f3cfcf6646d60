import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const servers = await (await openMcpServers(call, context)).list();
  if (isSet(call, "json")) printJson(stdout, servers);
  else if (servers.length === 0) printLine(stderr, "That server was started without MCP servers: `serve --mcp-config FILE` names them.");
  else {
    const rows = servers.map(({ name, state, isolation, tools, instances, refused, error }) => {
      const problem = error?.message.split("\n", 1)[0] ?? (refused ? `its network refused ${refused.join(", ")}` : "");
      return [name, state, isolation ?? "-", String(tools.length), String(instances), problem];
    });
    printTable(stdout, rows, ["NAME", "STATE", "ISOLATION", "TOOLS", "RUNNING", "PROBLEM"]);
  }
  return 0;
}
