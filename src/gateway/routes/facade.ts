import * as z from "zod";
import type { Catalog, CatalogOptions } from "../../catalog/catalog.ts";
import { BelljarError } from "../../errors.ts";
import { toAnswer } from "../../mcp/server/tool-answer.ts";
import type { Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import { changes, DOOR } from "../auth/access.ts";
import { addServers, addedServers } from "../facade/add-servers.ts";
import { callBody, credentialBody, customMcpBody, toolServerBody } from "../facade/facade-bodies.ts";
import type { FacadeSettings } from "../facade/facade-settings.ts";
import { probeToolServer } from "../facade/tool-server-probe.ts";
import { callerOf, callerQuery } from "./mcp.ts";
import type { Route } from "./route.ts";
import { type McpServers, noMcpServers } from "./servers.ts";
import { defineRoute } from "./route.ts";

export interface FacadeRouteOptions {
  readonly tools: Pick<Catalog, "listAll" | "call">;
  readonly sandboxes: Pick<Sandboxes, "default">;
  readonly settings: FacadeSettings;
  /** Absent: no MCP servers are served. */
  readonly servers?: McpServers | undefined;
  /** As tools have it. */
  readonly defaultSandbox: CatalogOptions["defaultSandbox"];
}

const SUCCESS = { status: "success" };
const CODEX = { command: "codex", args: ["mcp-server"] };

const success = z.object({ status: z.literal("success") });
const tool = z.looseObject({ name: z.string(), title: z.string(), description: z.string(), inputSchema: z.looseObject({}) });
const content = z.looseObject({ type: z.string() });
const result = z.object({
  value: z.unknown().describe("The answer as programs read it; of a failure its code, message and retryable"),
  content: z.array(content),
  structuredContent: z.looseObject({}).optional(),
  isError: z.boolean().optional(),
});
const registered = z.object({ status: z.enum(["success", "already_running", "error"]), url: z.string(), message: z.string().optional() });

/**
 * Tools over plain HTTP, and the routes by which an agent's backend sets its sandbox up; below a prefix.
 * Tools are there from the start: nothing here has to be called first.
 */
export function facadeRoutes(options: FacadeRouteOptions, prefix: string): readonly Route[] {
  return [...toolRoutes(options, prefix), ...settingRoutes(options, prefix), codexRoute(options, prefix)];
}

function toolRoutes({ tools }: FacadeRouteOptions, prefix: string): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: `${prefix}/tools`,
      access: DOOR,
      summary: "Every tool that the caller may call",
      answers: { 200: z.object({ tools: z.array(tool) }) },
      handle: async ({ caller }) => ({ tools: tools.listAll(caller) }),
    }),
    defineRoute({
      method: "POST",
      path: `${prefix}/tools/call`,
      access: DOOR,
      summary: "Calls a tool; what a model can act on is an answer with `isError`. `?sandbox=NAME` picks the default sandbox",
      query: callerQuery,
      body: callBody,
      answers: { 200: result },
      async handle(asked) {
        const { name, arguments: args } = asked.body;
        const caller = callerOf(asked);
        const called = await tools.call(caller.principal, name, args, { ...caller, requestId: asked.requestId, signal: asked.signal });
        return { value: called.value, ...toAnswer(called) };
      },
    }),
  ];
}

function settingRoutes({ settings, servers }: FacadeRouteOptions, prefix: string): readonly Route[] {
  const access = changes("settings");
  const answers = { 200: success };
  return [
    defineRoute({
      method: "POST",
      path: `${prefix}/credential`,
      access,
      summary: "The caller's credential for its outside tool server. It goes to the address that is named next, and to no other",
      body: credentialBody,
      answers,
      async handle({ caller, body }) {
        await settings.setCredential(caller, body);
        return SUCCESS;
      },
    }),
    defineRoute({
      method: "POST",
      path: `${prefix}/tool-server-url`,
      access,
      summary: "The outside tool server: 400 without a credential for it, 502 when its `/health` does not answer",
      body: toolServerBody,
      answers,
      async handle({ caller, body: { tool_server_url: url }, signal }) {
        await settings.assertMaySet(caller, url);
        await probeToolServer(caller, url, signal);
        await settings.setToolServer(caller, url);
        return SUCCESS;
      },
    }),
    defineRoute({
      method: "POST",
      path: `${prefix}/custom-mcp`,
      access,
      summary:
        "Adds MCP servers of the caller's own, all or none; answers when each serves its tools or has failed, after a minute at most",
      body: customMcpBody,
      answers: { 200: addedServers },
      handle: ({ caller, body: { mcpServers }, signal }) => addServers(servers ?? noMcpServers(), { caller, signal }, mcpServers),
    }),
  ];
}

function codexRoute({ sandboxes, servers, defaultSandbox }: FacadeRouteOptions, prefix: string): Route {
  return defineRoute({
    method: "POST",
    path: `${prefix}/register-codex`,
    access: changes("settings", "toolset:sandbox"),
    summary: "Adds Codex of the caller's sandbox to its MCP servers",
    query: callerQuery,
    answers: { 200: registered },
    async handle(asked) {
      const { principal, ...caller } = callerOf(asked);
      const wanted = defaultSandbox(principal, caller);
      const { sandbox } = await sandboxes.default(principal, wanted.name, wanted.options, asked.signal);
      const url = new URL("/mcp", asked.origin).href;
      if (!(await hasCodex(sandbox, asked.signal))) {
        return { status: "error", url, message: "There is no codex command in the sandbox: install it there first" };
      }
      const known = servers ?? noMcpServers();
      const isThere = known.servers(principal).some(({ name, error }) => name === "codex" && !error);
      const { status, servers: added } = await addServers(known, { caller: principal, signal: asked.signal }, { codex: CODEX });
      if (status === "error") return { status, url, message: added["codex"]?.error?.message ?? "It does not serve its tools" };
      return { status: isThere ? "already_running" : status, url };
    },
  });
}

async function hasCodex({ guest }: Pick<Sandbox, "guest">, signal: AbortSignal): Promise<boolean> {
  try {
    const { exitCode } = await guest.run({ argv: ["codex", "--version"], signal, timeoutMs: 10_000 });
    return exitCode === 0;
  } catch (error) {
    if (error instanceof BelljarError && (error.code === "COMMAND_NOT_FOUND" || error.code === "COMMAND_NOT_EXECUTABLE")) return false;
    throw error;
  }
}
