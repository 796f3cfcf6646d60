import * as z from "zod";
import type { McpHttp } from "../../mcp/server/http.ts";
import { DOOR } from "../auth/access.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { callerQuery, takeExchange } from "./mcp.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** `/sse` and `/messages`, for clients that speak 2024-11-05 alone. */
export function mcpSseRoutes({ sse }: Pick<McpHttp, "sse">, log: GatewayLog): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/sse",
      access: DOOR,
      summary: "With `serve --legacy-sse`: what the server sends to a client of 2024-11-05",
      query: callerQuery,
      answers: { 200: z.unknown() },
      async handle(asked) {
        const exchange = takeExchange(asked);
        await sse.open(exchange, "/messages").catch((error: unknown) => {
          log.error({ err: error, requestId: asked.requestId }, "mcp stream failed");
          exchange.response.destroy();
        });
      },
    }),
    defineRoute({
      method: "POST",
      path: "/messages",
      access: DOOR,
      summary: "With `serve --legacy-sse`: a message of such a client",
      query: callerQuery.extend({ sessionId: z.string().max(100) }),
      body: z.unknown(),
      answers: { 202: z.unknown() },
      handle: async (asked) => sse.deliver(takeExchange(asked), asked.query.sessionId),
    }),
  ];
}
