import { BelljarError } from "../../errors.ts";
import type { McpServerAnswer, RemoteMcpServers } from "../../remote/remote-servers.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readConfig } from "./open-stack.ts";
import { serverAddress } from "./server-address.ts";

/** The MCP servers behind the server of BELLJAR_URL. Rejects with `NOT_SUPPORTED` without one: they run in that process. */
export async function openMcpServers(call: CommandCall, context: CommandContext): Promise<RemoteMcpServers> {
  const server = serverAddress(readConfig(call, context), context);
  if (server) return (await import("../../remote/remote-servers.ts")).createRemoteMcpServers(server);
  const advice = "start `belljar serve --mcp-config FILE`, and name it here with BELLJAR_URL=http://127.0.0.1:6060";
  throw new BelljarError("NOT_SUPPORTED", `MCP servers run behind a running Belljar, and none is named: ${advice}`);
}

/** Rejects with `MCP_SERVER_NOT_FOUND`. */
export async function findMcpServer(servers: RemoteMcpServers, name: string): Promise<McpServerAnswer> {
  const found = (await servers.list()).find((one) => one.name === name);
  if (found) return found;
  throw new BelljarError("MCP_SERVER_NOT_FOUND", `There is no MCP server "${name}": \`belljar server list\` shows which there are`);
}
