import type { Readable, Writable } from "node:stream";
import { SdkHttpError, StreamableHTTPClientTransport, isInitializedNotification, isInitializeRequest } from "@modelcontextprotocol/client";
import type { JSONRPCMessage, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { REQUEST_REFUSED } from "../server/json-rpc.ts";

export interface StdioBridgeOptions {
  /** The server's MCP address. */
  readonly url: URL;
  readonly token?: string;
  readonly onError: (error: Error) => void;
  /** Default: the process's own. Nothing but MCP is written to `output`. */
  readonly input?: Readable;
  readonly output?: Writable;
}

export interface StdioBridge {
  /** Resolves when the host has gone, or `close` was called. */
  readonly closed: Promise<void>;
  /** Ends the session at the server. */
  close(): Promise<void>;
}

const SESSION_LOST = 404;
const RECONNECT = { initialReconnectionDelay: 500, maxReconnectionDelay: 10_000, reconnectionDelayGrowFactor: 2, maxRetries: 1_000 };
const MODERN_VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

/**
 * Carries MCP between a host on stdio and a server over HTTP, message by message, in whichever era the host speaks.
 * A server that was started again is told the host's `initialize` once more, so that the host notices nothing.
 */
export function bridgeStdio(options: StdioBridgeOptions): StdioBridge {
  const bridge = new Bridge(options);
  bridge.start();
  return bridge;
}

class Bridge implements StdioBridge {
  readonly closed: Promise<void>;
  readonly #host: StdioServerTransport;
  readonly #server: StreamableHTTPClientTransport;
  readonly #options: StdioBridgeOptions;
  /** Requests of the current era, which are cancelled by closing their streams. */
  readonly #streams = new Map<RequestId, AbortController>();
  #initialize: JSONRPCRequest | undefined;
  #reopening: Promise<void> | undefined;
  #isClosed = false;
  #settleClosed: () => void = () => undefined;

  constructor(options: StdioBridgeOptions) {
    this.#options = options;
    this.#host = new StdioServerTransport(options.input ?? process.stdin, options.output ?? process.stdout);
    const requestInit = options.token === undefined ? {} : { headers: { authorization: `Bearer ${options.token}` } };
    this.#server = new StreamableHTTPClientTransport(options.url, { requestInit, reconnectionOptions: RECONNECT });
    this.closed = new Promise((resolve) => (this.#settleClosed = resolve));
  }

  start(): void {
    this.#host.onmessage = (message) => void this.#toServer(message);
    this.#host.onerror = (error) => this.#options.onError(error);
    this.#host.onclose = () => void this.close();
    this.#server.onmessage = (message) => this.#toHost(message);
    // What a request failed of is told to the host as its answer; the rest is the server's going and coming.
    this.#server.onerror = (error) => void (this.#isClosed || this.#options.onError(error));
    void this.#server.start();
    this.#host.start().catch((error: unknown) => this.#options.onError(toError(error)));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return this.closed;
    this.#isClosed = true;
    // A server that has gone has ended the session too.
    await this.#server.terminateSession().catch(() => undefined);
    await this.#server.close();
    await this.#host.close();
    this.#settleClosed();
  }

  async #toServer(message: JSONRPCMessage): Promise<void> {
    if (isInitializeRequest(message) && "id" in message) this.#initialize = message as JSONRPCRequest;
    if (this.#cancelsStream(message)) return;
    try {
      await this.#reopening;
      await this.#send(message);
    } catch (error) {
      this.#answerFailure(message, toError(error));
    }
  }

  async #send(message: JSONRPCMessage): Promise<void> {
    const requestSignal = this.#streamOf(message);
    const options = requestSignal ? { requestSignal } : {};
    try {
      await this.#server.send(message, options);
    } catch (error) {
      if (!(error instanceof SdkHttpError) || error.status !== SESSION_LOST || !this.#initialize || isInitializeRequest(message))
        throw error;
      await this.#reopen(this.#initialize);
      await this.#server.send(message, options);
    }
  }

  /** The answer is for nobody: the host has had it. */
  #reopen(initialize: JSONRPCRequest): Promise<void> {
    this.#reopening ??= (async () => {
      const answered = this.#server.onmessage;
      this.#server.onmessage = (message) => void (("id" in message && message.id === initialize.id) || answered?.(message));
      try {
        await this.#server.send(initialize);
        await this.#server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      } finally {
        this.#server.onmessage = answered;
        this.#reopening = undefined;
      }
    })();
    return this.#reopening;
  }

  #toHost(message: JSONRPCMessage): void {
    if ("id" in message && message.id !== undefined && !("method" in message)) {
      this.#streams.delete(message.id);
      if (this.#initialize?.id === message.id && "result" in message) this.#negotiated(message.result);
    }
    this.#host.send(message).catch((error: unknown) => this.#options.onError(toError(error)));
  }

  /** Every later request of the session names it. */
  #negotiated(result: unknown): void {
    if (typeof result !== "object" || result === null || !("protocolVersion" in result)) return;
    if (typeof result.protocolVersion === "string") this.#server.setProtocolVersion(result.protocolVersion);
  }

  #streamOf(message: JSONRPCMessage): AbortSignal | undefined {
    if (!isModernRequest(message)) return undefined;
    const known = this.#streams.get(message.id);
    if (known) return known.signal;
    const stream = new AbortController();
    this.#streams.set(message.id, stream);
    return stream.signal;
  }

  #cancelsStream(message: JSONRPCMessage): boolean {
    if (!("method" in message) || message.method !== "notifications/cancelled") return false;
    const id = (message.params as { readonly requestId?: RequestId } | undefined)?.requestId;
    const stream = id === undefined ? undefined : this.#streams.get(id);
    if (id === undefined || !stream) return false;
    this.#streams.delete(id);
    stream.abort();
    return true;
  }

  #answerFailure(message: JSONRPCMessage, error: Error): void {
    if (!("method" in message) || !("id" in message) || message.id === undefined) {
      if (!isInitializedNotification(message)) this.#options.onError(error);
      return;
    }
    const wasCancelled = isModernRequest(message) && !this.#streams.delete(message.id);
    if (wasCancelled || this.#isClosed) return;
    this.#toHost({ jsonrpc: "2.0", id: message.id, error: { code: REQUEST_REFUSED, message: this.#explain(error) } });
  }

  #explain(error: Error): string {
    const { origin } = this.#options.url;
    const status = error instanceof SdkHttpError ? error.status : undefined;
    if (status === undefined && error.name !== "UnauthorizedError") {
      return `No Belljar answers at ${origin}: start one with belljar serve, or unset BELLJAR_URL`;
    }
    if (status === 401 || status === undefined) {
      return `The server at ${origin} does not know this token: name one with --token-file or BELLJAR_TOKEN`;
    }
    return `The server at ${origin} refused the request (HTTP ${status})`;
  }
}

function isModernRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  if (!("method" in message) || !("id" in message)) return false;
  const meta = (message.params as { readonly _meta?: Readonly<Record<string, unknown>> } | undefined)?._meta;
  return typeof meta?.[MODERN_VERSION_KEY] === "string";
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
