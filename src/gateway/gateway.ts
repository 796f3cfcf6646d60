import { once } from "node:events";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import type { Isolation } from "../runtime/runtime.ts";
import { createMcpHttp } from "../mcp/server/http.ts";
import type { McpHttp } from "../mcp/server/http.ts";
import type { ToolDoor } from "../mcp/server/tool-door.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { Principal, Sandboxes } from "../sandbox/sandbox.ts";
import { answerErrors, answerUnreadablePath, requestIdOf } from "./error-answer.ts";
import type { GatewayLog } from "./gateway-log.ts";
import { assertListenable } from "./loopback.ts";
import { assertJson, assertOwnOrigin } from "./origin-guard.ts";
import { doctorRoute } from "./routes/doctor.ts";
import { serveGuestUpgrades } from "./routes/guest.ts";
import { healthRoute } from "./routes/health.ts";
import { mcpRoute } from "./routes/mcp.ts";
import { sandboxRoutes } from "./routes/sandboxes.ts";

export interface GatewayOptions {
  readonly config: { readonly host: string; readonly port: number };
  readonly sandboxes: Sandboxes;
  readonly tools: ToolDoor;
  readonly isolation: () => Promise<Isolation>;
  readonly version: string;
  readonly log: GatewayLog;
}

/** The HTTP origin: MCP, REST and the streams to guests. */
export interface Gateway {
  /** Resolves with the address once it accepts requests. Rejects with `CONFIG_INVALID` for an address that others reach. */
  listen(): Promise<URL>;
  /** Takes no new requests, lets calls in flight end for at most `graceMs`, then cuts them. */
  close(graceMs?: number): Promise<void>;
}

/** What a request may hold; one limit for every route. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const GRACE_MS = 5_000;
/** For the whole of a request to arrive; answers may take longer. */
const REQUEST_TIMEOUT_MS = 60_000;

export function createGateway(options: GatewayOptions): Gateway {
  const { config, log } = options;
  const onError = (error: unknown, requestId?: string): void => log.error({ err: error, requestId }, "mcp call failed");
  const mcp = createMcpHttp({ tools: options.tools, version: options.version, onError });
  const app = createApp(options, mcp);
  const upgrades = serveGuestUpgrades(app.server, { sandboxes: options.sandboxes, host: config.host, principal, log });
  return {
    async listen() {
      assertListenable(config.host);
      return new URL(await app.listen({ host: config.host, port: config.port }));
    },
    async close(graceMs = GRACE_MS) {
      const stopped = stopAccepting(app);
      await mcp.close(graceMs);
      upgrades.close();
      app.server.closeAllConnections();
      await stopped;
    },
  };
}

/** There are no tokens: whoever reaches the loopback address is the local user. */
function principal(): Principal {
  return LOCAL;
}

function createApp(options: GatewayOptions, mcp: McpHttp): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: requestIdOf,
    return503OnClosing: true,
    forceCloseConnections: false,
    frameworkErrors: (_error, request, reply) => answerUnreadablePath(request, reply, options.log),
  });
  readJsonAlone(app);
  answerErrors(app, options.log);
  app.addHook("onRequest", async ({ method, headers }) => {
    assertOwnOrigin(headers, options.config.host);
    if (method === "POST") assertJson(headers);
  });
  void app.register(healthRoute());
  void app.register(mcpRoute({ mcp, principal, log: options.log }));
  void app.register(doctorRoute(options.isolation));
  void app.register(sandboxRoutes({ sandboxes: options.sandboxes, principal, log: options.log }));
  return app;
}

/** A GET or DELETE that names a type without sending a body is served. */
function readJsonAlone(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "" && request.method !== "POST") return done(null, undefined);
    return parse(request, String(body), done);
  });
}

/** Resolves when the last connection has gone. */
async function stopAccepting(app: FastifyInstance): Promise<void> {
  if (!app.server.listening) return app.close();
  const closed = once(app.server, "close");
  app.server.close();
  await closed;
  await app.close();
}
