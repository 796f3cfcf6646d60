import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { goneSignal } from "../../async/gone-signal.ts";
import { INTERNAL_ERROR, sendJsonRpcError } from "./json-rpc.ts";

export type WebHandler = (request: Request) => Promise<Response>;

export interface WebExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What is sent for an answer that is whole, part by part. */
  readonly complete: (answer: Uint8Array) => readonly Uint8Array[];
  readonly onError: (error: unknown) => void;
}

/**
 * Has a web-standard handler answer a request whose body was read before. The SDK's own adapter would serialise the body again, and send
 * each answer in parts: that cost a call more than Belljar's own work.
 */
export async function answerExchange(handler: WebHandler, { request, response, complete, onError }: WebExchange): Promise<void> {
  try {
    await send(await handler(toRequest(request, goneSignal(response))), response, complete);
  } catch (error) {
    onError(error);
    sendJsonRpcError(response, 500, { code: INTERNAL_ERROR, message: "Internal server error" });
  }
}

/**
 * Without a body: the SDK is given what was parsed of it. The signal is put in its place, because a request that is given one makes another
 * that follows it, which takes longer than the rest of the request.
 */
function toRequest({ method = "GET", headers, url = "/" }: IncomingMessage, signal: AbortSignal): Request {
  const request = new Request(`http://${headers.host ?? "localhost"}${url}`, { method, headers: toHeaders(headers) });
  return Object.defineProperty(request, "signal", { value: signal });
}

function toHeaders(given: IncomingMessage["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(given)) for (const one of [value].flat()) headers.append(name, one);
  return headers;
}

async function send(answer: Response, response: ServerResponse, complete: WebExchange["complete"]): Promise<void> {
  const headers = Object.fromEntries(answer.headers);
  if (answer.body && !headers["content-type"]?.startsWith("application/json")) {
    // A pipe into a closed response would wait for the stream, which may be silent.
    if (response.destroyed) return answer.body.cancel();
    response.writeHead(answer.status, headers);
    // The client has gone, or the SDK has ended the stream: there is nobody left to tell.
    return pipeline(answer.body, response).catch(() => undefined);
  }
  const parts = complete(new Uint8Array(await answer.arrayBuffer()));
  response.writeHead(answer.status, { ...headers, "content-length": parts.reduce((sum, { length }) => sum + length, 0) });
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
}
