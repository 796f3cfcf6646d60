import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { isInitializeRequest, isJSONRPCRequest } from "@modelcontextprotocol/server";
import type { RequestId } from "@modelcontextprotocol/server";
import type { Calls } from "./calls.ts";
import { REQUEST_REFUSED, sendJsonRpcError, SESSION_UNKNOWN } from "./json-rpc.ts";
import { createConnectionServer } from "./server.ts";
import type { McpServerOptions } from "./server-options.ts";
import { Sessions } from "./sessions.ts";
import type { Session, SessionLimits } from "./sessions.ts";
import { StoredLists } from "./stored-lists.ts";
import type { Caller } from "../../catalog/caller.ts";

export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The parsed JSON of a POST. */
  readonly body: unknown;
  readonly caller: Caller;
}

/**
 * Streamable HTTP for the revisions before 2026-07-28: one transport and one server a session, so that cancelling,
 * which these revisions send as a request of its own, finds the call.
 */
export class LegacyHttp {
  readonly #options: McpServerOptions;
  readonly #calls: Calls;
  readonly #sessions: Sessions;

  constructor(options: McpServerOptions & SessionLimits, calls: Calls) {
    this.#options = options;
    this.#calls = calls;
    const { maxSessions, idleMs, left } = options;
    this.#sessions = new Sessions({ maxSessions, idleMs, ended: (id, { caller }) => left?.(caller, id) });
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  async handle(exchange: HttpExchange): Promise<void> {
    const id = exchange.request.headers["mcp-session-id"];
    if (typeof id === "string") return this.#continue(id, exchange);
    if (exchange.request.method === "POST" && isInitializeRequest(exchange.body)) return this.#open(exchange);
    if (exchange.request.method === "POST") return refuse(exchange, 400, "Mcp-Session-Id is missing; send initialize first");
    exchange.response.setHeader("allow", "POST");
    refuse(exchange, 405, "Mcp-Session-Id is missing");
  }

  close(): void {
    this.#sessions.endAll();
  }

  async #continue(id: string, exchange: HttpExchange): Promise<void> {
    const session = this.#sessions.get(id, exchange.caller.principal);
    if (!session) {
      const error = { code: SESSION_UNKNOWN, message: "Session not found; send initialize again" };
      return sendJsonRpcError(exchange.response, 404, error);
    }
    const release = this.#sessions.use(id);
    exchange.response.once("close", () => {
      release();
      if (!exchange.response.writableFinished) cancelRequests(session, exchange.body);
    });
    session.lists.completeResponse(exchange.body, exchange.response);
    await session.transport.handleRequest(exchange.request, exchange.response, exchange.body);
  }

  async #open(exchange: HttpExchange): Promise<void> {
    if (!this.#sessions.makeRoom()) return refuse(exchange, 503, "Too many sessions are in use; try again later");
    const { caller } = exchange;
    const lists = new StoredLists();
    const transport = this.#createTransport(caller, lists);
    await createConnectionServer(this.#options, { caller, calls: this.#calls, lists }).connect(transport);
    try {
      await transport.handleRequest(exchange.request, exchange.response, exchange.body);
    } finally {
      // An initialize that the SDK refuses makes no session whose end would close it.
      if (transport.sessionId === undefined) await transport.close();
    }
  }

  #createTransport(caller: Caller, lists: StoredLists): NodeStreamableHTTPServerTransport {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#sessions.add(id, { caller, transport, lists }),
      onsessionclosed: (id) => this.#sessions.end(id),
    });
    return transport;
  }
}

/** Nobody can receive these answers any more: without an event store, a broken stream is not resumed. */
function cancelRequests(session: Session, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body]) {
    if (isJSONRPCRequest(message)) cancelRequest(session, message.id);
  }
}

function cancelRequest(session: Session, requestId: RequestId): void {
  const params = { requestId, reason: "The connection was closed" };
  session.transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
}

function refuse({ response }: HttpExchange, status: number, message: string): void {
  sendJsonRpcError(response, status, { code: REQUEST_REFUSED, message });
}
