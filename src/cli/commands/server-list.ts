import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { readConfig } from "../compose/open-stack.ts";
import { printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  // Nothing of a home runs in this process.
  const isHome = readConfig(call, context).url === undefined;
  const servers = await (await openMcpServers(call, context)).list();
  if (isSet(call, "json")) printJson(stdout, servers);
  else if (servers.length === 0)
    printLine(stderr, "There are no MCP servers: `belljar server add` adds one, and BELLJAR_URL names a running Belljar.");
  else {
    const rows = servers.map(({ name, state, isolation, tools, instances, changed = 0, refused, error }) => {
      const problem = error?.message.split("\n", 1)[0] ?? (refused ? `its network refused ${refused.join(", ")}` : "");
      const running = isHome ? ["-", "-"] : [String(tools.length), String(instances)];
      return [name, state, isolation ?? "-", ...running, String(changed), problem];
    });
    printTable(stdout, rows, ["NAME", "STATE", "ISOLATION", "TOOLS", "RUNNING", "CHANGED", "PROBLEM"]);
    if (isHome) printLine(stderr, "What runs, and the servers of --mcp-config, are shown with BELLJAR_URL=http://127.0.0.1:6060.");
  }
  return 0;
}
