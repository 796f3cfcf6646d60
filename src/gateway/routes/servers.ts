import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { McpServerDetails, McpServerInfo } from "../../mcp/proxy/hub-server.ts";
import type { BegunLogin } from "../../mcp/proxy/relay/held-login.ts";
import type { LoginWish } from "../../mcp/proxy/relay/upstream-login.ts";
import type { UpdatedProgram } from "../../mcp/proxy/prepare/package-programs.ts";
import { assertMayManage } from "../../mcp/proxy/sources/may-manage.ts";
import { loginBody, queryOf } from "./server-login.ts";
import { serverDetails, serverInfo, serverLogin, serverLogs, serversAnswer, serverUpdate } from "../../remote/remote-servers.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** The MCP servers whose tools this server serves too. What changes them rejects with `FORBIDDEN` for a caller who may not. */
export interface McpServers {
  /** Those that the principal may see. */
  servers(principal: Principal): readonly McpServerInfo[];
  /** Rejects with `MCP_SERVER_NOT_FOUND`, as all that follows. */
  details(principal: Principal, name: string): Promise<McpServerDetails>;
  logs(principal: Principal, name: string): readonly string[];
  restart(principal: Principal, name: string): Promise<void>;
  /** Rejects with `NOT_SUPPORTED` for one that is no package. */
  update(principal: Principal, name: string, signal: AbortSignal): Promise<UpdatedProgram>;
  /** Begins a login at one over HTTP. Rejects with `NOT_SUPPORTED` for one that knows none. */
  beginLogin(principal: Principal, name: string, wish: LoginWish, signal: AbortSignal): Promise<BegunLogin>;
  /** Ends it, with the query of the address that the browser came back to. Rejects with `LOGIN_NOT_FOUND` if none waits for that. */
  finishLogin(principal: Principal, name: string, query: URLSearchParams): Promise<void>;
  /** Adds all or none. Those of a caller who may not manage servers wait for an approval. */
  add(principal: Principal, entries: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Promise<void>;
  /** Resolves once each of these has listed its tools, has failed or waits for somebody; after a minute at most. */
  settled(principal: Principal, names: readonly string[], signal: AbortSignal): Promise<readonly McpServerInfo[]>;
  remove(principal: Principal, name: string): Promise<void>;
  /** `digest`: of what whoever approves has seen. Rejects with `MCP_SERVER_CHANGED` if it is another one now. */
  approve(principal: Principal, name: string, digest?: string): Promise<void>;
}

const params = z.object({ name: z.string().max(200) });
const added = z
  .looseObject({ name: z.string().min(1).max(200) })
  .describe("A name, and an entry as hosts write it: `command`, `args`, `env`, or `url`, `headers`; and the fields of Belljar's own");
const approval = z.object({ digest: z.string().max(100).optional().describe("Of what was looked at: another state is not approved") });

/** Without any, the list is empty and no name is known. */
export function serverRoutes(servers: McpServers | undefined): readonly Route[] {
  return [...readingRoutes(servers), ...changingRoutes(servers), loginRoute(servers)];
}

function readingRoutes(servers: McpServers | undefined): readonly Route[] {
  const access = reads("toolset:mcp");
  return [
    defineRoute({
      method: "GET",
      path: "/v1/servers",
      access,
      summary: "The caller's MCP servers, with their states and tools; and those of the local user that its token names",
      answers: { 200: serversAnswer },
      handle: async ({ caller }) => ({ servers: servers?.servers(caller) ?? [] }),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/servers/:name",
      access,
      summary: "One of the caller's MCP servers, with what has changed since it was approved",
      params,
      answers: { 200: serverDetails },
      handle: ({ caller, params: { name } }) => (servers ?? noMcpServers()).details(caller, name),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/servers/:name/logs",
      access,
      summary: "The last lines that an MCP server wrote to stderr",
      params,
      answers: { 200: serverLogs },
      handle: async ({ caller, params: { name } }) => ({ lines: (servers ?? noMcpServers()).logs(caller, name) }),
    }),
  ];
}

function changingRoutes(servers: McpServers | undefined): readonly Route[] {
  const access = changes("toolset:mcp");
  return [
    defineRoute({
      method: "POST",
      path: "/v1/servers",
      access,
      summary:
        "Adds an MCP server of the caller's own, or puts it in the place of that of the same name. A token needs the scope `servers`",
      body: added,
      answers: { 201: serverInfo },
      async handle({ caller, body: { name, ...entry } }) {
        const known = servers ?? noMcpServers();
        assertMayManage(caller);
        await known.add(caller, { [name]: entry });
        return known.servers(caller).find((one) => one.name === name) ?? disabled(name);
      },
    }),
    defineRoute({
      method: "DELETE",
      path: "/v1/servers/:name",
      access,
      summary: "Ends and removes an MCP server of the caller's own. A token needs the scope `servers`",
      params,
      answers: { 204: null },
      handle: ({ caller, params: { name } }) => (servers ?? noMcpServers()).remove(caller, name),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/servers/:name/approve",
      access,
      summary: "Approves that an MCP server runs, or what it lists now. A token needs the scope `servers`",
      params,
      body: approval,
      answers: { 200: serverDetails },
      async handle({ caller, params: { name }, body: { digest } }) {
        const known = servers ?? noMcpServers();
        await known.approve(caller, name, digest);
        return known.details(caller, name);
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/servers/:name/restart",
      access,
      summary: "Ends the instances of an MCP server, and lists its tools anew; answers when that has succeeded or failed",
      params,
      answers: { 204: null },
      handle: ({ caller, params: { name } }) => (servers ?? noMcpServers()).restart(caller, name),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/servers/:name/update",
      access,
      summary:
        "Installs the newest version of the package that an MCP server is, and starts it anew if that is another one. A token needs the scope `servers`",
      params,
      answers: { 200: serverUpdate },
      handle: ({ caller, params: { name }, signal }) => (servers ?? noMcpServers()).update(caller, name, signal),
    }),
  ];
}

function loginRoute(servers: McpServers | undefined): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/servers/:name/login",
    access: changes("toolset:mcp"),
    summary:
      "Logs in to an MCP server over HTTP, in two requests: the first one answers the address for a browser, the second one takes the address that it ended up at. A token needs the scope `servers`",
    params,
    body: loginBody,
    answers: { 200: serverLogin },
    async handle({ caller, params: { name }, body: { redirectUri, scope, ...back }, signal }) {
      const known = servers ?? noMcpServers();
      const query = queryOf(back);
      if (!query) {
        const begun = await known.beginLogin(caller, name, { redirectUri, scope }, signal);
        return { status: "waiting", ...begun, expiresAt: begun.expiresAt.toISOString() };
      }
      await known.finishLogin(caller, name, query);
      return { status: "done", server: known.servers(caller).find((one) => one.name === name) ?? disabled(name) };
    },
  });
}

/** An entry that says `disabled` is kept, and shown nowhere. */
export function disabled(name: string): McpServerInfo {
  return { name, state: "stopped", tools: [], instances: 0 };
}

/** Throws `MCP_SERVER_NOT_FOUND`. */
export function noMcpServers(): never {
  throw new BelljarError("MCP_SERVER_NOT_FOUND", "This server serves no MCP servers");
}
