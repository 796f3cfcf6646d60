import * as z from "zod";
import type { Builds } from "../../template/templates.ts";
import { buildLogSchema, buildSchema } from "../../template/wire/build-schema.ts";
import { templateOptionsSchema } from "../../template/wire/template-schema.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

const READS = reads("toolset:template");
const CHANGES = changes("toolset:template");
/** Well below what clients and proxies wait for an answer. */
const WAIT_MAX_S = 30;

const params = z.object({ name: z.string().min(1).max(63), id: z.string().min(1).max(64) });
const whole = z.string().regex(/^[0-9]{1,10}$/);

const query = z.object({
  offset: whole.default("0").transform(Number).describe("In bytes of the log: of the answer before, its `nextOffset`"),
  wait: whole
    .default("0")
    .transform(Number)
    .refine((seconds) => seconds <= WAIT_MAX_S, `is at most ${WAIT_MAX_S}`)
    .describe("How many seconds to wait for more, if there is none yet"),
});

/** Templates that nobody waits for. */
export function templateBuildRoutes(builds: () => Promise<Builds>): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/templates/builds",
      access: CHANGES,
      summary: "Begins to make a template, and answers at once. The build goes on until it ends, is stopped, or the server ends",
      body: templateOptionsSchema,
      answers: { 202: buildSchema },
      handle: async ({ caller, body }) => (await builds()).begin(caller, body),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/templates/:name/builds/:id",
      access: READS,
      summary: "What a build has come to. It is told for a week, of those that have ended the last ones",
      params,
      answers: { 200: buildSchema },
      handle: async ({ caller, params: build }) => (await builds()).info(caller, build),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/templates/:name/builds/:id/logs",
      access: READS,
      summary: "A part of what a build has said. Ask again from `nextOffset` on until the text is empty and the state is not `building`",
      params,
      query,
      answers: { 200: buildLogSchema },
      handle: async ({ caller, params: build, query: { offset, wait }, signal }) =>
        (await builds()).log(caller, build, { offset, waitMs: wait * 1_000 }, signal),
    }),
    defineRoute({
      method: "DELETE",
      path: "/v1/templates/:name/builds/:id",
      access: CHANGES,
      summary: "Stops a build, which then has failed. A template that it has made stays",
      params,
      answers: { 204: null },
      handle: async ({ caller, params: build }) => (await builds()).stop(caller, build),
    }),
  ];
}
