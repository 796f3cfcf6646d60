import { createMcpHandler } from "@modelcontextprotocol/server";
import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { concerns } from "../../catalog/caller.ts";
import { createCalls } from "./calls.ts";
import { LegacyHttp } from "./legacy-http.ts";
import type { HttpExchange } from "./legacy-http.ts";
import { watchListened } from "./listened.ts";
import { isLegacy } from "./is-legacy.ts";
import { INVALID_REQUEST, sendJsonRpcError } from "./json-rpc.ts";
import { HeldCalls } from "./held-calls.ts";
import { Listeners } from "./listeners.ts";
import { isNestedTooDeep, NESTING_MAX } from "../../catalog/nesting.ts";
import { createMcpServer } from "./server.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { SessionLimits } from "./sessions.ts";
import { SseHttp } from "./sse-http.ts";
import { StoredLists } from "./stored-lists.ts";
import type { WebHandler } from "./web-exchange.ts";
import { answerExchange } from "./web-exchange.ts";

export type McpHttpOptions = McpServerOptions & Partial<SessionLimits>;

/** MCP at one URL, both eras. Whoever mounts it checks the path, Host, Origin and the caller, and parses the body. */
export interface McpHttp {
  handle(exchange: HttpExchange): Promise<void>;
  /** The transport that 2024-11-05 had: a GET that stays, and a POST for each message. */
  readonly sse: SseHttp;
  /** Of clients of the older revisions. */
  sessionCount(): number;
  /** Waits for the calls in flight for at most `graceMs`, then aborts them, and resolves when they have cleaned up. */
  close(graceMs: number): Promise<void>;
}

const MAX_SESSIONS = 1_000;
const SESSION_IDLE_MS = 30 * 60_000;

export function createMcpHttp(options: McpHttpOptions): McpHttp {
  const calls = createCalls();
  const legacy = new LegacyHttp({ maxSessions: MAX_SESSIONS, idleMs: SESSION_IDLE_MS, ...options }, calls);
  const sse = new SseHttp({ maxSessions: MAX_SESSIONS, ...options }, calls);
  const held = new HeldCalls<unknown>(calls);
  const exchanges = new WeakMap<Request, McpConnection>();
  const modern = createModernHandler(options, exchanges);
  const listeners = new Listeners(() => createModernHandler(options, exchanges));
  const stopAnnouncing = announceChanges(options, listeners);
  return {
    sse,
    sessionCount: () => legacy.sessionCount,
    async handle(exchange) {
      if (isNestedTooDeep(exchange.body)) {
        const message = `The message is nested deeper than ${NESTING_MAX} levels`;
        return sendJsonRpcError(exchange.response, 400, { code: INVALID_REQUEST, message });
      }
      if (isLegacy(exchange)) return legacy.handle(exchange);
      const { caller, body } = exchange;
      const connected = options.connected?.(caller);
      const closed = new AbortController();
      exchange.response.once("close", () => (connected?.[Symbol.dispose](), closed.abort()));
      const lists = new StoredLists();
      const method = methodOf(body);
      const handler = method === "subscriptions/listen" ? listeners.open(caller.principal, exchange.response) : modern;
      const fetch: WebHandler = (request) => {
        exchanges.set(request, { caller, calls, held, lists, ...(method !== undefined && { method }) });
        return handler.fetch(request, { parsedBody: body });
      };
      watchListened(options, { principal: caller.principal, signal: closed.signal }, body);
      lists.expect(body);
      const complete = (answer: Uint8Array): readonly Uint8Array[] => lists.completeAnswer(body, answer);
      await answerExchange(fetch, { ...exchange, complete, onError: options.onError });
    },
    async close(graceMs) {
      await calls.stop(graceMs);
      stopAnnouncing();
      legacy.close();
      sse.close();
      await Promise.all([modern.close(), listeners.close()]);
    },
  };
}

/** `exchanges` says which request belongs to whom: the SDK hands the same object to the factory. */
function createModernHandler(options: McpServerOptions, exchanges: WeakMap<Request, McpConnection>): McpHttpHandler {
  return createMcpHandler(
    ({ requestInfo }) => {
      const exchange = requestInfo && exchanges.get(requestInfo);
      if (!exchange) throw new TypeError("The SDK served a request that this handler did not pass on");
      return createMcpServer(options, exchange);
    },
    { legacy: "reject" },
  );
}

function announceChanges({ tools, prompts, resources }: McpServerOptions, listeners: Listeners): () => void {
  const stops = [
    tools.onChange((ownerId) => listeners.publish({ kind: "tools_list_changed" }, (principal) => concerns(ownerId, principal))),
    prompts?.onChange((ownerId) => listeners.publish({ kind: "prompts_list_changed" }, (principal) => concerns(ownerId, principal))),
    resources?.onListChange((isConcerned) => listeners.publish({ kind: "resources_list_changed" }, isConcerned)),
    resources?.onUpdate((isConcerned, uri) => listeners.publish({ kind: "resource_updated", uri }, isConcerned)),
  ];
  return () => stops.forEach((stop) => stop?.());
}

function methodOf(body: unknown): string | undefined {
  const { method } = (body ?? {}) as { method?: unknown };
  return typeof method === "string" ? method : undefined;
}
