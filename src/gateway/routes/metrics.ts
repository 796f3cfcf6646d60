import type { FastifyPluginAsync } from "fastify";
import { BelljarError } from "../../errors.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";

/** For Prometheus; beyond loopback it sends a token as everybody else. */
export function metricsRoute(metrics: Pick<ServerMetrics, "read"> | undefined): FastifyPluginAsync {
  return async (app) => {
    app.get("/metrics", async (_request, reply) => {
      if (!metrics) throw new BelljarError("NOT_SUPPORTED", "This server counts nothing");
      const { contentType, text } = await metrics.read();
      return reply.type(contentType).send(text);
    });
  };
}
