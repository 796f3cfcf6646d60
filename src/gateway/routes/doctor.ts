import type { FastifyPluginAsync } from "fastify";
import type { Isolation } from "../../runtime/runtime.ts";

/** What this server's host enforces. */
export function doctorRoute(isolation: () => Promise<Isolation>): FastifyPluginAsync {
  return async (app) => {
    app.get("/v1/doctor", async () => isolation());
  };
}
