import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { findMcpServer, openMcpServers } from "../compose/open-mcp-servers.ts";
import { printJson, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const server = await findMcpServer(await openMcpServers(call, context), call.positionals[0] ?? "");
  if (isSet(call, "json")) printJson(context.stdout, server);
  else {
    const { name, state, transport, isolation, network, refused, instances, tools, error } = server;
    const rows: readonly (readonly [string, string | undefined])[] = [
      ["name", name],
      ["state", state],
      ["transport", transport],
      ["isolation", isolation],
      ["network", network === undefined || typeof network === "string" ? network : network.allow.join(", ")],
      ["refused", refused?.join(", ")],
      ["running", String(instances)],
      ["error", error?.message],
      ...tools.map((tool) => ["tool", tool] as const),
    ];
    printTable(
      context.stdout,
      rows.flatMap(([label, value]) => (value === undefined ? [] : [[label, value]])),
    );
  }
  return 0;
}
