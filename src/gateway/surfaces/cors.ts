import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const PREFLIGHT_MAX_AGE_S = "600";

/** Whether a browser asks if a page may send what it wants to send. */
export function isPreflight({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean {
  return method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}

/** Lets the pages of every site read the answer. Nothing here lets a browser send what it keeps for this server. */
export function allowPages({ raw: request }: Pick<FastifyRequest, "raw">, { raw: response }: Pick<FastifyReply, "raw">): void {
  if (request.headers.origin === undefined) return;
  response.setHeader("access-control-allow-origin", "*");
  if (isPreflight(request)) allowRequest(request, response);
  // Without credentials the star is every header: those of Connect, ranges, and whatever a route gives.
  else response.setHeader("access-control-expose-headers", "*");
}

/** Answers a browser that asks whether a page may send a request, of any site and without what it keeps for this server. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", "*");
  allowRequest(request, response);
  response.writeHead(204).end();
}

function allowRequest({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("access-control-allow-methods", METHODS);
  response.setHeader("access-control-max-age", PREFLIGHT_MAX_AGE_S);
  const names = headers["access-control-request-headers"];
  if (names !== undefined) response.setHeader("access-control-allow-headers", names);
}
