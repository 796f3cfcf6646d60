import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { parseJSONRPCMessage } from "@modelcontextprotocol/server";
import type { Calls } from "./calls.ts";
import { PARSE_ERROR, REQUEST_REFUSED, sendJsonRpcError, SESSION_UNKNOWN } from "./json-rpc.ts";
import type { HttpExchange } from "./legacy-http.ts";
import { createConnectionServer } from "./server.ts";
import type { McpServerOptions } from "./server-options.ts";
import { StoredLists } from "./stored-lists.ts";
import type { Caller } from "../../catalog/caller.ts";

export interface SseHttpOptions extends McpServerOptions {
  readonly maxSessions: number;
}

/** A client that takes no more than this leaves its answers to fill our memory. */
const UNREAD_MAX_BYTES = 16 * 1_048_576;
/** So that what stands between does not take a quiet stream for a dead one. */
const KEEP_ALIVE_MS = 15_000;

/**
 * The HTTP+SSE transport of 2024-11-05, which later revisions have replaced: one stream for all answers, whose end is the session's
 * end, and requests posted beside it.
 */
export class SseHttp {
  readonly #options: SseHttpOptions;
  readonly #calls: Calls;
  readonly #sessions = new Map<string, { readonly caller: Caller; readonly transport: SseTransport }>();

  constructor(options: SseHttpOptions, calls: Calls) {
    this.#options = options;
    this.#calls = calls;
  }

  /** Opens a session on a GET; its first event names the path that requests are posted to. */
  async open({ response, caller }: HttpExchange, messagesPath: string): Promise<void> {
    if (this.#sessions.size >= this.#options.maxSessions) {
      const message = "Too many sessions are open; close one and try again";
      return sendJsonRpcError(response, 503, { code: REQUEST_REFUSED, message });
    }
    const id = randomUUID();
    const lists = new StoredLists();
    const transport = new SseTransport(response, lists, `${messagesPath}?sessionId=${id}`);
    this.#sessions.set(id, { caller, transport });
    response.once("close", () => {
      this.#sessions.delete(id);
      void transport.close();
      this.#options.left?.(caller, id);
    });
    await createConnectionServer(this.#options, { caller, calls: this.#calls, lists, id }).connect(transport);
  }

  /** Takes a posted message. Somebody else's session answers as an unknown one. */
  deliver({ response, body, caller }: HttpExchange, sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    if (!session || !isDeepStrictEqual(session.caller.principal, caller.principal)) {
      return sendJsonRpcError(response, 404, { code: SESSION_UNKNOWN, message: "Session not found; open the stream again" });
    }
    const message = parseMessage(body);
    if (!message) return sendJsonRpcError(response, 400, { code: PARSE_ERROR, message: "The body is no message of JSON-RPC" });
    response.writeHead(202).end("Accepted");
    session.transport.receive(message);
  }

  close(): void {
    for (const { transport } of this.#sessions.values()) void transport.close();
  }
}

function parseMessage(body: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(body);
  } catch {
    // Whatever is wrong with it, it is no message.
    return undefined;
  }
}

class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #response: ServerResponse;
  readonly #lists: StoredLists;
  readonly #endpoint: string;
  #keepAlive: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(response: ServerResponse, lists: StoredLists, endpoint: string) {
    this.#response = response;
    this.#lists = lists;
    this.#endpoint = endpoint;
  }

  async start(): Promise<void> {
    this.#response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    this.#write("endpoint", this.#endpoint);
    this.#keepAlive = setInterval(() => this.#response.write(": keepalive\n\n"), KEEP_ALIVE_MS);
    this.#keepAlive.unref();
  }

  receive(message: JSONRPCMessage): void {
    this.#lists.expect(message);
    this.onmessage?.(message);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new TypeError("The stream is closed");
    this.#write("message", this.#lists.completeLine(message)?.toString().trimEnd() ?? JSON.stringify(message));
    if (this.#response.writableLength > UNREAD_MAX_BYTES) await this.close();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#keepAlive);
    this.#response.end();
    this.onclose?.();
  }

  #write(event: string, data: string): void {
    this.#response.write(`event: ${event}\ndata: ${data}\n\n`);
  }
}
