import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { McpServerInfo } from "../../mcp/proxy/hub-server.ts";
import type { UpdatedProgram } from "../../mcp/proxy/prepare/package-programs.ts";
import { serverLogs, serversAnswer, serverUpdate } from "../../remote/remote-servers.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** The MCP servers whose tools this server serves too. */
export interface McpServers {
  /** Those that the principal may see. */
  servers(principal: Principal): readonly McpServerInfo[];
  /** Throws `MCP_SERVER_NOT_FOUND`. */
  logs(principal: Principal, name: string): readonly string[];
  /** Rejects with `MCP_SERVER_NOT_FOUND`. */
  restart(principal: Principal, name: string): Promise<void>;
  /** Rejects with `MCP_SERVER_NOT_FOUND`, and with `NOT_SUPPORTED` for one that is no package. */
  update(principal: Principal, name: string, signal: AbortSignal): Promise<UpdatedProgram>;
}

const params = z.object({ name: z.string().max(200) });

/** Without any, the list is empty and no name is known. */
export function serverRoutes(servers: McpServers | undefined): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/servers",
      access: reads("toolset:mcp"),
      summary: "The MCP servers of the configuration that this server was started with, with their states and tools",
      answers: { 200: serversAnswer },
      handle: async ({ caller }) => ({ servers: servers?.servers(caller) ?? [] }),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/servers/:name/logs",
      access: reads("toolset:mcp"),
      summary: "The last lines that an MCP server wrote to stderr",
      params,
      answers: { 200: serverLogs },
      handle: async ({ caller, params: { name } }) => ({ lines: (servers ?? none()).logs(caller, name) }),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/servers/:name/restart",
      access: changes("toolset:mcp"),
      summary: "Ends the instances of an MCP server, and lists its tools anew; answers when that has succeeded or failed",
      params,
      answers: { 204: null },
      handle: ({ caller, params: { name } }) => (servers ?? none()).restart(caller, name),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/servers/:name/update",
      access: changes("toolset:mcp"),
      summary: "Installs the newest version of the package that an MCP server is, and starts it anew if that is another one",
      params,
      answers: { 200: serverUpdate },
      handle: ({ caller, params: { name }, signal }) => (servers ?? none()).update(caller, name, signal),
    }),
  ];
}

function none(): never {
  throw new BelljarError(
    "MCP_SERVER_NOT_FOUND",
    "This server was started without MCP servers: name their file with `serve --mcp-config FILE`",
  );
}
