import * as z from "zod";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { createSandbox } from "./create-sandbox.ts";
import type { CreateWish } from "./create-schema.ts";
import { createSchema } from "./create-schema.ts";
import { findInfo, findSandbox, idParams } from "./find-sandbox.ts";
import { DEFAULT_TIMEOUT_S } from "./lifecycle.ts";
import { listQuery, metadataField } from "./list-query.ts";
import { listRunning, listSandboxes } from "./list-sandboxes.ts";
import { detailSchema, listedSchema, type SandboxAnswer, sandboxSchema, toDetail, toListed, toSandboxAnswer } from "./sandbox-answer.ts";
import { CHANGES, READS, READS_TOKENS } from "./scopes.ts";

/** What E2B's first clients get who say nothing. */
const FIRST_TIMEOUT_S = 15;

/** Makes, lists, tells of and kills sandboxes. */
export function sandboxRoutes(e2b: E2b): readonly Route[] {
  const make = (timeout: number) => (asked: AskedToMake) => {
    e2b.noteClient(asked.request.headers["user-agent"]);
    return create(e2b, asked, timeout);
  };
  return [
    createRoute("/sandboxes", make(FIRST_TIMEOUT_S)),
    createRoute("/v2/sandboxes", make(DEFAULT_TIMEOUT_S)),
    ...listRoutes(e2b),
    defineRoute({
      method: "GET",
      path: "/sandboxes/:id",
      access: READS_TOKENS,
      summary: "All about a sandbox",
      params: idParams,
      answers: { 200: detailSchema },
      handle: async (asked) => toDetail(e2b, asked, await findInfo(e2b.sandboxes, asked)),
    }),
    defineRoute({
      method: "DELETE",
      path: "/sandboxes/:id",
      access: CHANGES,
      summary: "Kills a sandbox, which may be paused. Its open streams end",
      params: idParams,
      answers: { 204: null },
      handle: async (asked) => (await findSandbox(e2b.sandboxes, asked)).sandbox.kill(),
    }),
  ];
}

type AskedToMake = Asked<unknown, unknown, CreateWish>;

function createRoute(path: string, handle: (asked: AskedToMake) => Promise<SandboxAnswer>): Route {
  return defineRoute({
    method: "POST",
    path,
    access: CHANGES,
    summary: "Makes a sandbox, as E2B's SDKs ask for it",
    body: createSchema,
    answers: { 201: sandboxSchema },
    handle,
  });
}

async function create(e2b: E2b, asked: AskedToMake, timeout: number): Promise<SandboxAnswer> {
  const { caller, body, signal, reached } = asked;
  const { id } = await createSandbox(e2b, caller, { ...body, timeout: body.timeout ?? timeout }, signal);
  reached(id);
  return toSandboxAnswer(e2b, asked, { id, template: body.templateID, metadata: {} });
}

function listRoutes({ sandboxes, settings }: E2b): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/sandboxes",
      access: READS,
      summary: "The caller's sandboxes that run",
      query: z.object({ metadata: metadataField }),
      answers: { 200: z.array(listedSchema) },
      handle: async ({ caller, query }) => (await listRunning(sandboxes, caller, query)).map((info) => toListed(info, settings)),
    }),
    defineRoute({
      method: "GET",
      path: "/v2/sandboxes",
      access: READS,
      summary: "One page of the caller's sandboxes; `x-next-token` of the answer is `nextToken` of the next page",
      query: listQuery,
      answers: { 200: z.array(listedSchema) },
      async handle(asked) {
        const { items, nextToken, running } = await listSandboxes(sandboxes, asked.caller, asked.query);
        asked.setHeader("x-total-running", String(running));
        if (nextToken !== undefined) asked.setHeader("x-next-token", nextToken);
        return items.map(({ info }) => toListed(info, settings));
      },
    }),
  ];
}
