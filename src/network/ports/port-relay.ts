import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { request as requestHttp } from "node:http";
import { pipeline } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { toInnerHeaders, toOuterHeaders } from "./port-headers.ts";
import type { PortConnections } from "./port-pool.ts";
import type { PortTarget } from "./port-target.ts";

/** Methods whose requests can be sent twice, if they have no body. */
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export interface PortRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: PortTarget;
}

/**
 * Relays one request inside and its answer outside. Both are streamed with back-pressure, and the end of one side ends the other.
 * Rejects if there is no answer to relay.
 */
export async function relayRequest(connections: PortConnections, exchange: PortRequest): Promise<void> {
  const { request, response, target } = exchange;
  const body = bodyOf(request);
  const isRepeatable = body.isEmpty && SAFE.has(request.method ?? "");
  const answer = isRepeatable ? await askAgain(connections, exchange, body) : await answered(ask(connections, exchange, body));
  const status = answer.statusCode ?? 0;
  if (status < 200) {
    answer.destroy();
    throw new BelljarError("GUEST_PROTOCOL", `The program inside answered with the status ${status}, which HTTP does not have`);
  }
  response.writeHead(status, toOuterHeaders(answer, request, target));
  // An answer without a length may be a stream whose first byte comes late.
  if (answer.headers["content-length"] === undefined) response.flushHeaders();
  await pass(answer, response);
}

/** Sends the request on a kept connection. If that connection closes meanwhile, sends it again on a new connection. */
async function askAgain(connections: PortConnections, exchange: PortRequest, body: Body): Promise<IncomingMessage> {
  const asked = ask(connections, exchange, body, connections.agent);
  try {
    return await answered(asked);
  } catch (error) {
    if (!asked.reusedSocket || exchange.response.destroyed) throw error;
    return answered(ask(connections, exchange, body));
  }
}

function ask(connections: PortConnections, { request, response, target }: PortRequest, body: Body, agent?: Agent): ClientRequest {
  const asked = requestHttp({
    method: request.method,
    path: target.path,
    headers: [...toInnerHeaders(request, target), ...body.framing],
    ...(agent ? { agent } : { createConnection: connections.connect }),
  });
  const end = (): void => void asked.destroy();
  response.once("close", end);
  asked.once("close", () => response.off("close", end));
  if (body.isEmpty) asked.end();
  else send(request, asked);
  return asked;
}

/** Sends the body. If the program answers and closes before it has read the whole body, the rest is dropped. */
function send(request: IncomingMessage, asked: ClientRequest): void {
  request.pipe(asked);
  request.once("close", () => {
    if (!request.complete) asked.destroy();
  });
  asked.once("close", () => {
    request.unpipe(asked);
    request.resume();
  });
}

function answered(asked: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asked.once("response", resolve);
    // A program that switches without being asked to violates HTTP, so its connection is closed.
    asked.once("upgrade", (_answer, stream) => {
      stream.destroy();
      reject(new BelljarError("GUEST_PROTOCOL", "The program inside switched protocols without being asked to"));
    });
    asked.on("error", (error) => reject(toPortError(error)));
    asked.once("close", () => reject(toPortError(new Error("closed"))));
  });
}

/** Converts an error of a request. Errors of the connection are BelljarErrors already. All others concern the program's answer. */
export function toPortError(error: unknown): BelljarError {
  if (error instanceof BelljarError) return error;
  return new BelljarError("PORT_REFUSED", "The program on this port closed the connection, or answered with something that is not HTTP", {
    cause: error,
  });
}

function pass(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // A failure of one side ends the other side. It cannot be reported any more.
    pipeline(answer, response, () => resolve());
  });
}

interface Body {
  /** The headers that frame the relayed body. */
  readonly framing: readonly string[];
  readonly isEmpty: boolean;
}

/** Throws `ARGUMENTS_INVALID` for a body in a transfer coding that the router and the program might read differently. */
function bodyOf({ headers, method = "" }: IncomingMessage): Body {
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw new BelljarError("ARGUMENTS_INVALID", "Send the body with Content-Length, or with chunked as the only Transfer-Encoding");
  }
  if (coding !== undefined) return { framing: ["Transfer-Encoding", "chunked"], isEmpty: false };
  const length = headers["content-length"];
  if (length === undefined) return { framing: SAFE.has(method) ? [] : ["Content-Length", "0"], isEmpty: true };
  return { framing: ["Content-Length", length], isEmpty: Number(length) === 0 };
}
