import * as z from "zod";
import { mapLimit } from "../../../async/map-limit.ts";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { findInfo, findSandbox, idParams } from "./find-sandbox.ts";
import { type Metric, MetricLooks, metricSchema } from "./metrics.ts";
import { stateOf } from "./sandbox-answer.ts";
import { READS } from "./scopes.ts";

const IDS_MAX = 100;
const TOGETHER = 8;

const seconds = z
  .string()
  .regex(/^\d{1,12}$/, "must be a time in seconds")
  .transform(Number)
  .optional();
const count = z
  .string()
  .regex(/^\d{1,16}$/, "must be a whole number")
  .optional();

const idsField = z
  .string()
  .max(10_000)
  .transform((text) => text.split(",").filter((id) => id !== ""))
  .pipe(z.array(z.string().max(200)).max(IDS_MAX));

/** What can be seen of sandboxes: their use of the machine, and their logs. */
export function observeRoutes(e2b: E2b): readonly Route[] {
  return [...metricRoutes(e2b), ...logRoutes(e2b)];
}

function metricRoutes({ sandboxes }: E2b): readonly Route[] {
  const looks = new MetricLooks();
  const find = async (caller: Principal, id: string): Promise<readonly (readonly [string, Metric])[]> => {
    try {
      const { sandbox, info } = await findSandbox(sandboxes, { caller, params: { id }, reached: () => undefined });
      return stateOf(info) === "paused" ? [] : [[info.id, await looks.of(sandbox, info)]];
    } catch (cause) {
      if (cause instanceof BelljarError) return [];
      throw cause;
    }
  };
  return [
    defineRoute({
      method: "GET",
      path: "/sandboxes/:id/metrics",
      access: READS,
      summary: "A sample of now, if the time that is asked for holds it and the sandbox runs. None of earlier times is kept",
      params: idParams,
      query: z.object({ start: seconds, end: seconds }),
      answers: { 200: z.array(metricSchema) },
      async handle(asked) {
        const { sandbox, info } = await findSandbox(sandboxes, asked);
        const now = Date.now() / 1_000;
        const { start = 0, end = Number.POSITIVE_INFINITY } = asked.query;
        // Clients round to whole seconds.
        if (start > now + 1 || end < now - 1 || stateOf(info) === "paused") return [];
        return [await looks.of(sandbox, info)];
      },
    }),
    defineRoute({
      method: "GET",
      path: "/sandboxes/metrics",
      access: READS,
      summary: "A sample of now of each of these sandboxes of the caller that runs",
      query: z.object({ sandbox_ids: idsField }),
      answers: { 200: z.object({ sandboxes: z.record(z.string(), metricSchema) }) },
      async handle({ caller, query }) {
        const found = await mapLimit([...new Set(query.sandbox_ids)], TOGETHER, (id) => find(caller, id));
        return { sandboxes: Object.fromEntries(found.flat()) };
      },
    }),
  ];
}

const levels = z.enum(["debug", "info", "warn", "error"]);
const logEntry = z.object({
  timestamp: z.iso.datetime(),
  level: levels,
  message: z.string(),
  fields: z.record(z.string(), z.string()),
});

/** No log of a sandbox is kept that its client could not read in it: the lists are empty. */
function logRoutes({ sandboxes }: E2b): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/sandboxes/:id/logs",
      access: READS,
      summary: "An empty log: what programs write goes to whoever runs them, and is not kept",
      params: idParams,
      query: z.object({ start: count, limit: count }),
      answers: { 200: z.object({ logs: z.array(z.object({ timestamp: z.string(), line: z.string() })), logEntries: z.array(logEntry) }) },
      async handle(asked) {
        await findInfo(sandboxes, asked);
        return { logs: [], logEntries: [] };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v2/sandboxes/:id/logs",
      access: READS,
      summary: "The same",
      params: idParams,
      query: z.object({
        cursor: count,
        limit: count,
        direction: z.enum(["forward", "backward"]).optional(),
        level: levels.optional(),
        search: z.string().max(1_000).optional(),
      }),
      answers: { 200: z.object({ logs: z.array(logEntry) }) },
      async handle(asked) {
        await findInfo(sandboxes, asked);
        return { logs: [] };
      },
    }),
  ];
}
