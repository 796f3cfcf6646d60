import { BelljarError } from "../../errors.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { reads } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

/** For Prometheus; beyond loopback it sends a token as everybody else. */
export function metricsRoute(metrics: Pick<ServerMetrics, "read"> | undefined): RouteGroup {
  return (routes) => {
    routes.get("/metrics", reads("metrics"), async (_request, reply) => {
      if (!metrics) throw new BelljarError("NOT_SUPPORTED", "This server has no metrics");
      const { contentType, text } = await metrics.read();
      return reply.type(contentType).send(text);
    });
  };
}
