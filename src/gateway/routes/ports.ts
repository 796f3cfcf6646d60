import * as z from "zod";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { Callers } from "../auth/callers.ts";
import { parseRequest } from "../parse-request.ts";
import { idParams } from "./sandbox-schemas.ts";
import { changes, reads } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

const READS = reads("toolset:sandbox");
const CHANGES = changes("toolset:sandbox");

export interface PortRoutesOptions {
  readonly sandboxes: Sandboxes;
  readonly callers: Callers;
}

const linkBody = z.strictObject({
  port: z.number().int().min(1).max(65_535),
  access: z.enum(["token", "public"]).default("token"),
});

/** What listens in a sandbox, and the links to it. The ports themselves are served beside these routes, by `PortRouter`. */
export function portRoutes({ sandboxes, callers }: PortRoutesOptions): RouteGroup {
  return (routes) => {
    routes.get("/v1/sandboxes/:id/ports", READS, async (request) => (await sandboxes.get(callers.of(request.raw), idOf(request))).ports());
    routes.post("/v1/sandboxes/:id/ports", CHANGES, async (request, reply) => {
      const { port, access } = parseRequest(linkBody, request.body);
      const sandbox = await sandboxes.get(callers.of(request.raw), idOf(request));
      return reply.code(201).send(await sandbox.registerPort(port, access));
    });
  };
}

function idOf(request: { readonly params: unknown }): string {
  return parseRequest(idParams, request.params).id;
}
