import type { FastifyRequest, RouteHandlerMethod } from "fastify";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { McpHttp } from "../../mcp/server/http.ts";
import { jsonRpcError, PARSE_ERROR, REQUEST_REFUSED } from "../../mcp/server/json-rpc.ts";
import type { Caller } from "../../mcp/server/tool-door.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { DOOR } from "../auth/access.ts";
import type { Callers } from "../auth/callers.ts";
import { fromFastify } from "../error-answer.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { parseRequest } from "../parse-request.ts";
import type { RouteGroup, Routes } from "./routes.ts";

export interface McpRouteOptions {
  readonly mcp: McpHttp;
  readonly callers: Callers;
  readonly log: GatewayLog;
}

const DEFAULT_SANDBOX = "default";
const query = z.object({
  sandbox: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .default(DEFAULT_SANDBOX),
});

/** `/mcp?sandbox=NAME`. What is refused before MCP reads it is answered as a JSON-RPC error without an id. */
export function mcpRoute({ mcp, callers, log }: McpRouteOptions): RouteGroup {
  const handle: RouteHandlerMethod = async (request, reply) => {
    const caller = callerOf(request, callers.of(request.raw));
    reply.hijack();
    const exchange = { request: request.raw, response: reply.raw, body: request.body ?? undefined, caller };
    await mcp.handle(exchange).catch((error: unknown) => {
      log.error({ err: error, requestId: request.id }, "mcp request failed");
      reply.raw.destroy();
    });
  };
  return (routes) => {
    answerAsJsonRpc(routes);
    for (const method of ["get", "post", "delete"] as const) routes[method]("/mcp", DOOR, handle);
  };
}

export function answerAsJsonRpc({ onError }: Pick<Routes, "onError">): void {
  onError(async (error, _request, reply) => {
    const { status, code, message } = toJsonRpc(error);
    return reply.code(status).type("application/json").send(jsonRpcError({ code, message }));
  });
}

export function callerOf(request: FastifyRequest, principal: Principal): Caller {
  return { principal, defaultName: parseRequest(query, request.query).sandbox };
}

function toJsonRpc(error: unknown): { readonly status: number; readonly code: number; readonly message: string } {
  const known = fromFastify(error);
  if (!(known instanceof BelljarError)) throw error;
  const isUnreadable = known !== error && known.status === 400;
  return { status: known.status, code: isUnreadable ? PARSE_ERROR : REQUEST_REFUSED, message: known.message };
}
