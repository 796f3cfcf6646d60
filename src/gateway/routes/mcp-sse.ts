import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import type { HttpExchange } from "../../mcp/server/legacy-http.ts";
import { DOOR } from "../auth/access.ts";
import { parseRequest } from "../parse-request.ts";
import type { McpRouteOptions } from "./mcp.ts";
import { answerAsJsonRpc, callerOf } from "./mcp.ts";
import type { RouteGroup } from "./routes.ts";

const SESSION = z.object({ sessionId: z.string().max(100) });

/** `/sse` and `/messages`, for clients that speak 2024-11-05 alone. */
export function mcpSseRoutes({ mcp, callers, log }: McpRouteOptions): RouteGroup {
  return (routes) => {
    answerAsJsonRpc(routes);
    const take = (request: FastifyRequest, reply: FastifyReply): HttpExchange => {
      const caller = callerOf(request, callers.of(request.raw));
      reply.hijack();
      return { request: request.raw, response: reply.raw, body: request.body ?? undefined, caller };
    };
    routes.get("/sse", DOOR, async (request, reply) => {
      await mcp.sse.open(take(request, reply), "/messages").catch((error: unknown) => {
        log.error({ err: error, requestId: request.id }, "mcp stream failed");
        reply.raw.destroy();
      });
    });
    routes.post("/messages", DOOR, async (request, reply) => {
      const { sessionId } = parseRequest(SESSION, request.query);
      mcp.sse.deliver(take(request, reply), sessionId);
    });
  };
}
