import { BelljarError } from "../../errors.ts";
import type { McpServerAnswer, RemoteMcpServers } from "../../remote/remote-servers.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { usage } from "../usage.ts";
import { readConfig } from "./open-stack.ts";
import { serverAddress } from "./server-address.ts";

/**
 * The MCP servers of the server that BELLJAR_URL names, else those that were added to the home, of which nothing runs in this process. Only what is
 * written to the home by a person at the machine may reach the host.
 */
export async function openMcpServers(call: CommandCall, context: CommandContext): Promise<RemoteMcpServers> {
  const config = readConfig(call, context);
  const server = serverAddress(config, context);
  const owner = textOption(call, "owner");
  if (server && owner !== undefined)
    throw usage("--owner is for the home of this machine: without BELLJAR_URL", `belljar ${call.spec.name} --help`);
  if (server) return (await import("../../remote/remote-servers.ts")).createRemoteMcpServers(server);
  const { HomeServers } = await import("./home-servers.ts");
  return new HomeServers(config, { owner, env: context.env, stderr: context.stderr });
}

/** Rejects with `MCP_SERVER_NOT_FOUND`. */
export async function findMcpServer(servers: RemoteMcpServers, name: string): Promise<McpServerAnswer> {
  const found = (await servers.list()).find((one) => one.name === name);
  if (found) return found;
  throw new BelljarError("MCP_SERVER_NOT_FOUND", `There is no MCP server "${name}": \`belljar server list\` shows which there are`);
}
