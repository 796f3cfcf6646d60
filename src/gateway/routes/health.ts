import type { FastifyPluginAsync } from "fastify";

export function healthRoute(): FastifyPluginAsync {
  return async (app) => {
    app.get("/health", async () => ({ status: "ok" }));
    app.get("/mcp/health", async () => ({ status: "ok" }));
  };
}
