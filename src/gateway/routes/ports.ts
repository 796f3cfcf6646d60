import type { FastifyPluginAsync } from "fastify";
import * as z from "zod";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { Callers } from "../auth/callers.ts";
import { parseRequest } from "../parse-request.ts";
import { idParams } from "./sandbox-schemas.ts";

export interface PortRoutesOptions {
  readonly sandboxes: Sandboxes;
  readonly callers: Callers;
}

const linkBody = z.strictObject({
  port: z.number().int().min(1).max(65_535),
  access: z.enum(["token", "public"]).default("token"),
});

/** What listens in a sandbox, and the links to it. The ports themselves are served beside these routes, by `PortRouter`. */
export function portRoutes({ sandboxes, callers }: PortRoutesOptions): FastifyPluginAsync {
  return async (app) => {
    app.get("/v1/sandboxes/:id/ports", async (request) => (await sandboxes.get(callers.of(request.raw), idOf(request))).ports());
    app.post("/v1/sandboxes/:id/ports", async (request, reply) => {
      const { port, access } = parseRequest(linkBody, request.body);
      const sandbox = await sandboxes.get(callers.of(request.raw), idOf(request));
      return reply.code(201).send(await sandbox.registerPort(port, access));
    });
  };
}

function idOf(request: { readonly params: unknown }): string {
  return parseRequest(idParams, request.params).id;
}
