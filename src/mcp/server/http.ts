import type { IncomingMessage } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { classifyInboundRequest, createMcpHandler } from "@modelcontextprotocol/server";
import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { createCalls } from "./calls.ts";
import type { Calls } from "./calls.ts";
import { LegacyHttp } from "./legacy-http.ts";
import type { HttpExchange } from "./legacy-http.ts";
import { createMcpServer } from "./server.ts";
import type { McpServerOptions } from "./server.ts";
import type { SessionLimits } from "./sessions.ts";
import type { Caller } from "./tool-door.ts";

export type McpHttpOptions = McpServerOptions & Partial<SessionLimits>;

/** MCP at one URL, both eras. Whoever mounts it checks the path, Host, Origin and the caller, and parses the body. */
export interface McpHttp {
  handle(exchange: HttpExchange): Promise<void>;
  /** Waits for the calls in flight for at most `graceMs`, then aborts them, and resolves when they have cleaned up. */
  close(graceMs: number): Promise<void>;
}

const MAX_SESSIONS = 1_000;
const SESSION_IDLE_MS = 30 * 60_000;

export function createMcpHttp(options: McpHttpOptions): McpHttp {
  const calls = createCalls();
  const legacy = new LegacyHttp({ maxSessions: MAX_SESSIONS, idleMs: SESSION_IDLE_MS, ...options }, calls);
  const callers = new WeakMap<Request, Caller>();
  const modern = createModernHandler(options, { calls, callers });
  const stopAnnouncing = options.tools.onChange(() => modern.notify.toolsChanged());
  return {
    async handle(exchange) {
      if (isLegacy(exchange)) return legacy.handle(exchange);
      const fetch: McpHttpHandler["fetch"] = (request, extra) => {
        callers.set(request, exchange.caller);
        return modern.fetch(request, extra);
      };
      await toNodeHandler({ fetch }, { onerror: options.onError })(exchange.request, exchange.response, exchange.body);
    },
    async close(graceMs) {
      await calls.stop(graceMs);
      stopAnnouncing();
      legacy.close();
      await modern.close();
    },
  };
}

interface ModernState {
  readonly calls: Calls;
  /** Who sent a request: the SDK hands the same object to the factory. */
  readonly callers: WeakMap<Request, Caller>;
}

function createModernHandler(options: McpServerOptions, { calls, callers }: ModernState): McpHttpHandler {
  return createMcpHandler(
    ({ requestInfo }) => {
      const caller = requestInfo && callers.get(requestInfo);
      if (!caller) throw new TypeError("The SDK served a request that this handler did not pass on");
      return createMcpServer(options, caller, calls);
    },
    { legacy: "reject" },
  );
}

function isLegacy({ request, body }: HttpExchange): boolean {
  const outcome = classifyInboundRequest({
    httpMethod: request.method ?? "",
    protocolVersionHeader: header(request, "mcp-protocol-version"),
    mcpMethodHeader: header(request, "mcp-method"),
    mcpNameHeader: header(request, "mcp-name"),
    body,
  });
  return outcome.kind === "legacy";
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
