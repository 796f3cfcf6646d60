import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { reads } from "../auth/access.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** For Prometheus; beyond loopback it sends a token as everybody else. */
export function metricsRoute(metrics: Pick<ServerMetrics, "read"> | undefined): Route {
  return defineRoute({
    method: "GET",
    path: "/metrics",
    access: reads("metrics"),
    summary:
      "For Prometheus: tool calls and their durations, HTTP requests, live sandboxes, sessions, connections of sandboxes, the process",
    answers: { 200: z.string().meta({ contentTypes: ["text/plain"] }) },
    async handle(asked) {
      if (!metrics) throw new BelljarError("NOT_SUPPORTED", "This server has no metrics");
      const { contentType, text } = await metrics.read();
      asked.setType(contentType);
      return text;
    },
  });
}
