import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { request as requestHttp } from "node:http";
import { pipeline } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { toInnerHeaders, toOuterHeaders } from "./port-headers.ts";
import type { PortConnections } from "./port-pool.ts";
import type { PortTarget } from "./port-target.ts";

/** A request of these, without a body, can be sent twice. */
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export interface PortRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: PortTarget;
}

/**
 * Passes one request in and its answer out, neither of them held: each side goes as fast as the other takes it, and the end of
 * one is the end of the other. Rejects when there is no answer to pass on.
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
  // An answer without a length may be a stream whose first byte is long in coming.
  if (answer.headers["content-length"] === undefined) response.flushHeaders();
  await pass(answer, response);
}

/** On a kept connection; when that was closed as the request left, on one of its own. */
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

/** A program that answers and closes before it has read all is served as it would be without us: the rest is dropped. */
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
    // A port that switches without being asked to has broken the protocol; the connection belongs to nobody.
    asked.once("upgrade", (_answer, stream) => {
      stream.destroy();
      reject(new BelljarError("GUEST_PROTOCOL", "The program inside switched protocols without being asked to"));
    });
    asked.on("error", (error) => reject(toPortError(error)));
    asked.once("close", () => reject(toPortError(new Error("closed"))));
  });
}

/** What a connection into a sandbox breaks with is a BelljarError already; the rest is about what the program said. */
export function toPortError(error: unknown): BelljarError {
  if (error instanceof BelljarError) return error;
  return new BelljarError("PORT_REFUSED", "The program on this port closed the connection, or answered with something that is not HTTP", {
    cause: error,
  });
}

function pass(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // Either end's failure is told by the other's end; there is nothing left to say it with.
    pipeline(answer, response, () => resolve());
  });
}

interface Body {
  /** The headers that frame it as we pass it on. */
  readonly framing: readonly string[];
  readonly isEmpty: boolean;
}

/** Throws `ARGUMENTS_INVALID` for a body in a coding that only one of the two readers would undo. */
function bodyOf({ headers, method = "" }: IncomingMessage): Body {
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw new BelljarError("ARGUMENTS_INVALID", "Send the body with Content-Length, or with Transfer-Encoding: chunked alone");
  }
  if (coding !== undefined) return { framing: ["Transfer-Encoding", "chunked"], isEmpty: false };
  const length = headers["content-length"];
  if (length === undefined) return { framing: SAFE.has(method) ? [] : ["Content-Length", "0"], isEmpty: true };
  return { framing: ["Content-Length", length], isEmpty: Number(length) === 0 };
}
