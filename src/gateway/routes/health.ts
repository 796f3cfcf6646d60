import type { FastifyPluginAsync } from "fastify";

/** `assertReady` throws, with the reason, while the server should be given no requests. */
export function healthRoute(assertReady: () => void): FastifyPluginAsync {
  return async (app) => {
    app.get("/health", async () => ({ status: "ok" }));
    app.get("/mcp/health", async () => ({ status: "ok" }));
    app.get("/ready", async () => {
      assertReady();
      return { status: "ready" };
    });
  };
}
