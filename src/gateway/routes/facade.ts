import type { FastifyRequest } from "fastify";
import type { Catalog, CatalogOptions } from "../../catalog/catalog.ts";
import type { Principal, Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import { BelljarError } from "../../errors.ts";
import { changes, DOOR, OPEN } from "../auth/access.ts";
import type { Callers } from "../auth/callers.ts";
import { callBody, credentialBody, customMcpBody, toolServerBody } from "../facade/facade-bodies.ts";
import type { FacadeSettings } from "../facade/facade-settings.ts";
import { createOpenApi } from "../facade/openapi.ts";
import { probeToolServer } from "../facade/tool-server-probe.ts";
import { goneSignal } from "../gone-signal.ts";
import { parseRequest } from "../parse-request.ts";
import { callerOf } from "./mcp.ts";
import type { RouteGroup } from "./routes.ts";

export interface FacadeRouteOptions {
  readonly tools: Pick<Catalog, "listAll" | "call">;
  readonly sandboxes: Pick<Sandboxes, "default">;
  readonly settings: FacadeSettings;
  /** As tools have it. */
  readonly defaultSandbox: CatalogOptions["defaultSandbox"];
  readonly callers: Callers;
}

const SUCCESS = { status: "success" };
const CODEX = { command: "codex", args: ["mcp-server"] };

/** What the routes below are, for programs. */
export function openApiRoute(version: string): RouteGroup {
  return (routes) => {
    routes.get("/openapi.json", OPEN, async () => createOpenApi(version));
  };
}

/**
 * Tools over plain HTTP, and the routes by which an agent's backend sets its sandbox up; to be served at the root and below `/mcp`.
 * Tools are there from the start: nothing here has to be called first.
 */
export function facadeRoutes(options: FacadeRouteOptions): RouteGroup {
  const { tools, settings, callers } = options;
  const who = (request: FastifyRequest): Principal => callers.of(request.raw);
  return (routes) => {
    routes.get("/tools", DOOR, async (request) => ({ tools: tools.listAll(who(request)) }));
    routes.post("/tools/call", DOOR, async (request, reply) => {
      const { name, arguments: args } = parseRequest(callBody, request.body);
      const caller = callerOf(request, who(request));
      return tools.call(caller.principal, name, args, { ...caller, requestId: request.id, signal: goneSignal(reply) });
    });
    routes.post("/credential", changes("settings"), async (request) => {
      await settings.setCredential(who(request), parseRequest(credentialBody, request.body));
      return SUCCESS;
    });
    routes.post("/tool-server-url", changes("settings"), async (request, reply) => {
      const { tool_server_url: url } = parseRequest(toolServerBody, request.body);
      await settings.assertMaySet(who(request), url);
      await probeToolServer(who(request), url, goneSignal(reply));
      await settings.setToolServer(who(request), url);
      return SUCCESS;
    });
    routes.post("/custom-mcp", changes("settings"), async (request) => {
      await settings.addServers(who(request), parseRequest(customMcpBody, request.body).mcpServers);
      return SUCCESS;
    });
    routes.post("/register-codex", changes("settings", "toolset:sandbox"), async (request, reply) => {
      const { principal, ...caller } = callerOf(request, who(request));
      const wanted = options.defaultSandbox(principal, caller);
      const { sandbox } = await options.sandboxes.default(principal, wanted.name, wanted.options, goneSignal(reply));
      const url = new URL("/mcp", `${request.protocol}://${request.host}`).href;
      if (!(await hasCodex(sandbox, goneSignal(reply)))) {
        return { status: "error", url, message: "There is no codex command in the sandbox: install it there first" };
      }
      return { status: (await settings.addServers(principal, { codex: CODEX })) ? "success" : "already_running", url };
    });
  };
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
