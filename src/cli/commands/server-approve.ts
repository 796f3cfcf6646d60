import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { confirm } from "../confirm.ts";
import { printLine } from "../print.ts";
import { printServer } from "../print-server.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdin, stdout, stderr } = context;
  const [name = ""] = call.positionals;
  const servers = await openMcpServers(call, context);
  const server = await servers.details(name);
  if (server.state !== "needs_approval" && server.changes.length === 0) {
    // Of a server of a named file the home holds what waits, and not what was approved.
    const isHeld = server.runs !== undefined;
    printLine(stderr, isHeld ? `There is nothing to approve: ${name} is as it was approved` : `Nothing of ${name} waits for an approval`);
    return 0;
  }
  printServer(stderr, server);
  if (!isSet(call, "yes")) {
    if (!stdin.isTTY)
      throw usage("Nobody can be asked here: look at it with `belljar server info`, and say --yes", "belljar server approve --help");
    if (!(await confirm(context, `Approve ${name} as it is shown?`))) return 1;
  }
  // What was shown is approved, and nothing that came since.
  const { state } = await servers.approve(name, server.digest);
  printLine(stdout, `${name} is approved${state === "needs_approval" ? "" : `, and ${state}`}`);
  return 0;
}
