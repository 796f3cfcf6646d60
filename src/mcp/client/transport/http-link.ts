import type { FetchLike, Transport } from "@modelcontextprotocol/client";
import { SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import type { HttpTarget } from "../config/resolve-server.ts";
import { withLogin } from "../oauth/login-fetch.ts";
import type { ServerLogin } from "../oauth/server-login.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { fetchBy, type HttpWay } from "./http-way.ts";

/** Answers on their way to one server. */
const ANSWERS_MAX = 1000;

/** MCP over HTTP. */
export interface HttpLink {
  readonly transport: Transport;
  /** Why this side closed the connection, if it did for what the server does. */
  readonly failure: () => BelljarError | undefined;
}

export interface HttpLinkOptions {
  /** Whose token the requests have. */
  readonly login?: ServerLogin | undefined;
  /** Absent: each request may leave. */
  readonly way?: HttpWay | undefined;
}

/** A connection that a server can fill neither with what it sends nor with what it does not take. It is closed then. */
export function createHttpLink(kind: "http" | "sse", { name, url, headers }: HttpTarget, { login, way }: HttpLinkOptions): HttpLink {
  let failure: BelljarError | undefined;
  const fail = (error: BelljarError): void => {
    failure ??= error;
    void transport.close();
  };
  // The SDK's transport of HTTP with SSE keeps only the words of an error.
  let refusal: BelljarError | undefined;
  const noting: FetchLike = async (address, init) => {
    refusal = undefined;
    try {
      return await (way ? fetchBy(way) : fetch)(address, init);
    } catch (cause) {
      if (cause instanceof BelljarError) refusal = cause;
      throw cause;
    }
  };
  const bounded = boundedFetch(name, fail, noting);
  // A server must not send this machine to others, nor its keys.
  const options = {
    requestInit: { headers: { ...headers } },
    redirectPolicy: "same-origin" as const,
    fetch: login ? withLogin(bounded, login) : bounded,
  };
  const transport = kind === "http" ? new StreamableHTTPClientTransport(url, options) : new SSEClientTransport(url, options);
  limitAnswers(transport, () => {
    const error = new BelljarError("SERVER_INCOMPATIBLE", `The server "${name}" does not take the answers to what it asks`);
    fail(error);
    return error;
  });
  return { transport, failure: () => failure ?? (kind === "sse" ? refusal : undefined) };
}

function limitAnswers(transport: Transport, refuse: () => BelljarError): void {
  const send = transport.send.bind(transport);
  let answers = 0;
  transport.send = async (message, options) => {
    if ("method" in message) return send(message, options);
    if (answers >= ANSWERS_MAX) throw refuse();
    answers += 1;
    try {
      return await send(message, options);
    } finally {
      answers -= 1;
    }
  };
}
