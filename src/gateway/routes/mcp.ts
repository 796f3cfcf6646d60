import type { McpHttp } from "../../mcp/server/http.ts";
import type { HttpExchange } from "../../mcp/server/legacy-http.ts";
import type { Caller } from "../../catalog/caller.ts";
import * as z from "zod";
import { DOOR } from "../auth/access.ts";
import type { GatewayLog } from "../gateway-log.ts";
import type { Asked, Route } from "./route.ts";
import { defineRoute } from "./route.ts";

const DEFAULT_SANDBOX = "default";

/** Of `belljar mcp` in front of a server: its host's project. A client can only narrow itself. */
const project = {
  project: z.string().max(4096).startsWith("/").optional().describe("Folder of the project that the client works for"),
  sees: z.enum(["own", "all"]).default("own").describe("Whether it sees sandboxes of other projects of its owner too"),
};

/** `?sandbox=NAME` picks the default sandbox of a call. */
export const callerQuery = z.object({
  ...project,
  sandbox: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .default(DEFAULT_SANDBOX),
});

type CallerQuery = z.output<typeof callerQuery>;

const METHODS = {
  POST: "MCP, both eras; `?sandbox=NAME` picks the default sandbox",
  GET: "What the server sends by itself, in a session of the older era",
  DELETE: "Ends a session of the older era",
};

/** `/mcp`, which the SDK answers. */
export function mcpRoutes(mcp: Pick<McpHttp, "handle">, log: GatewayLog): readonly Route[] {
  const methods = Object.entries(METHODS) as readonly (readonly [keyof typeof METHODS, string])[];
  return methods.map(([method, summary]) =>
    defineRoute({
      method,
      path: "/mcp",
      access: DOOR,
      summary,
      query: callerQuery,
      ...(method === "POST" && { body: z.unknown() }),
      answers: { 200: z.unknown() },
      async handle(asked) {
        const exchange = takeExchange(asked);
        await mcp.handle(exchange).catch((error: unknown) => {
          log.error({ err: error, requestId: asked.requestId }, "mcp request failed");
          exchange.response.destroy();
        });
      },
    }),
  );
}

/** From here on the SDK answers. */
export function takeExchange(asked: Asked<unknown, CallerQuery>): HttpExchange {
  const caller = callerOf(asked);
  return { ...asked.takeOver(), body: asked.body ?? undefined, caller };
}

export function callerOf({ caller, query: { sandbox, project: folder, sees } }: Asked<unknown, CallerQuery>): Caller {
  const project = folder === undefined ? undefined : { folder, sees, defaultName: sandbox };
  return { principal: { ...caller, ...(project && { project }) }, defaultName: sandbox };
}
