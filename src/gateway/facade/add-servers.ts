import * as z from "zod";
import type { McpServerInfo } from "../../mcp/proxy/hub-server.ts";
import { serverInfo } from "../../remote/remote-servers.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { disabled, type McpServers } from "../routes/servers.ts";

export const addedServers = z.object({
  status: z.enum(["success", "error"]).describe("success: the tools of each of these servers are served"),
  servers: z.record(z.string(), serverInfo.pick({ state: true, tools: true, error: true })),
});

export interface AddedFor {
  readonly caller: Principal;
  readonly signal: AbortSignal;
}

/** Adds servers, and waits until each serves its tools or cannot. Rejects as `McpServers.add` does. */
export async function addServers(
  servers: McpServers,
  { caller, signal }: AddedFor,
  entries: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Promise<z.output<typeof addedServers>> {
  await servers.add(caller, entries);
  const names = Object.keys(entries);
  const infos = await servers.settled(caller, names, signal);
  const told = names.map((name) => [name, toTold(infos.find((one) => one.name === name) ?? disabled(name))] as const);
  return { status: told.some(([, { error }]) => error) ? "error" : "success", servers: Object.fromEntries(told) };
}

function toTold({ name, state, tools, error }: McpServerInfo): z.output<typeof addedServers>["servers"][string] {
  const why = error ?? reasonFor(name, state);
  return { state, tools: [...tools], ...(why && { error: why }) };
}

function reasonFor(name: string, state: McpServerInfo["state"]): McpServerInfo["error"] {
  switch (state) {
    case "starting":
      return { code: "EXEC_TIMEOUT", message: `The MCP server "${name}" has not listed its tools in time; it is still awaited` };
    case "needs_approval":
      return {
        code: "MCP_SERVER_NOT_APPROVED",
        message: `The MCP server "${name}" waits for an approval: ask for it, or use a token with the scope servers`,
      };
    case "needs_login":
      return { code: "UNAUTHORIZED", message: `The MCP server "${name}" needs a login: \`belljar server login ${name}\`` };
    case "ready":
    case "failed":
    case "stopped":
      return undefined;
  }
}
