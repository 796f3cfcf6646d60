import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { defaultSandboxSchema, sandboxPageSchema, usageSchema } from "../../sandbox/wire/answer-schemas.ts";
import { createdSandboxSchema } from "../../sandbox/wire/fork-schema.ts";
import { sandboxSchema } from "../../sandbox/wire/sandbox-schema.ts";
import { changes, reads } from "../auth/access.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { assertMayShow } from "./may-show.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { infoOrEnd, leaseSandbox } from "./sandbox-lease.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import { createBody, defaultBody, extendBody, idParams, listQuery, nameParams } from "./sandbox-schemas.ts";

const READS = reads("toolset:sandbox");
const CHANGES = changes("toolset:sandbox");

/** Sandboxes for the CLI and for scripts. Dates are ISO 8601; the fields are those of the domain's types. */
export function sandboxRoutes(sandboxes: Sandboxes, log: GatewayLog): readonly Route[] {
  return [...makingRoutes(sandboxes, log), ...readingRoutes(sandboxes), ...endingRoutes(sandboxes)];
}

function makingRoutes(sandboxes: Sandboxes, log: GatewayLog): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes",
      access: CHANGES,
      summary:
        "Makes a sandbox. With `ephemeral` the answer is one line and stays open: the sandbox is killed when the client closes it. `nestedFilters` is not for callers with a token",
      body: createBody,
      answers: { 201: createdSandboxSchema.meta({ contentTypes: ["application/json", "application/x-ndjson"] }) },
      async handle(asked) {
        const options = assertMayShow(asked.caller, asked.body);
        const sandbox = await sandboxes.create(asked.caller, options, asked.signal);
        asked.reached(sandbox.id);
        return options.ephemeral ? leaseSandbox(sandbox, asked, log) : infoOrEnd(sandbox, log);
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/default-sandboxes/:name",
      access: CHANGES,
      summary: "The caller's default sandbox of that name, made on first use, and started again when it is stopped",
      params: nameParams,
      body: defaultBody,
      answers: { 200: defaultSandboxSchema },
      async handle({ caller, params: { name }, body, signal, reached }) {
        const { sandbox, created, started } = await sandboxes.default(caller, name, assertMayShow(caller, body), signal);
        reached(sandbox.id);
        return { created, ...(started && { started }), sandbox: await sandbox.info() };
      },
    }),
  ];
}

function readingRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/sandboxes",
      access: READS,
      summary:
        "One page of the caller's sandboxes, the newest first; `?state=running&metadata.KEY=VALUE&limit=N&cursor=C`, C being `nextCursor` of the page before",
      query: listQuery,
      answers: { 200: sandboxPageSchema },
      handle: ({ caller, query }) => sandboxes.list(caller, query),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/sandboxes/:id",
      access: READS,
      summary: "All about a sandbox; `:id` may be a name, or the beginning of an id",
      params: idParams,
      answers: { 200: sandboxSchema },
      handle: ({ caller, params: { id } }) => sandboxes.info(caller, id),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/sandboxes/:id/usage",
      access: READS,
      summary: "Its use of memory, CPU and processes",
      params: idParams,
      answers: { 200: usageSchema },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).usage(),
    }),
  ];
}

function endingRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "DELETE",
      path: "/v1/sandboxes/:id",
      access: CHANGES,
      summary: "Ends a sandbox",
      params: idParams,
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).kill(),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/extend",
      access: CHANGES,
      summary: "Sets how long a sandbox still lives",
      params: idParams,
      body: extendBody,
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).extend(asked.body.timeoutMs, asked.body.action),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/pause",
      access: CHANGES,
      summary: "Freezes its programs until the next call, or request to one of its ports. `NOT_SUPPORTED` where nothing can be frozen",
      params: idParams,
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).pause(),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/resume",
      access: CHANGES,
      summary: "Wakes a paused one, as every call does. Changes nothing if it runs",
      params: idParams,
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).resume(),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/stop",
      access: CHANGES,
      summary: "Ends its processes and keeps its files. `NOT_SUPPORTED` when they cannot be kept",
      params: idParams,
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).stop(),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/start",
      access: CHANGES,
      summary: "Starts a stopped one, with its files, its network and its links",
      params: idParams,
      answers: { 200: sandboxSchema },
      handle: async (asked) => (await (await reachSandbox(sandboxes, asked)).start(asked.signal)).info(),
    }),
  ];
}
