import * as z from "zod";
import { networkPolicySchema } from "../../sandbox/network-schema.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { Callers } from "../auth/callers.ts";
import { parseRequest } from "../parse-request.ts";
import { idParams } from "./sandbox-schemas.ts";
import { changes, reads } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

const READS = reads("toolset:sandbox");
const CHANGES = changes("toolset:sandbox");

export interface NetworkRoutesOptions {
  readonly sandboxes: Sandboxes;
  readonly callers: Callers;
}

const networkBody = z.strictObject({ policy: networkPolicySchema, capped: z.boolean().default(false) });

/** What a sandbox may reach, and the variables that its commands get. */
export function networkRoutes({ sandboxes, callers }: NetworkRoutesOptions): RouteGroup {
  return (routes) => {
    routes.get("/v1/sandboxes/:id/network", READS, async (request) => {
      const { network: policy, networkCeiling: ceiling = policy } = await sandboxes.info(callers.of(request.raw), idOf(request));
      return { policy, ceiling };
    });
    routes.put("/v1/sandboxes/:id/network", CHANGES, async (request, reply) => {
      const { policy, capped } = parseRequest(networkBody, request.body);
      const sandbox = await sandboxes.get(callers.of(request.raw), idOf(request));
      await sandbox.setNetwork(policy, { capped });
      return reply.code(204).send();
    });
    routes.get("/v1/sandboxes/:id/environment", READS, async (request) => ({
      env: await (await sandboxes.get(callers.of(request.raw), idOf(request))).environment(),
    }));
  };
}

function idOf(request: { readonly params: unknown }): string {
  return parseRequest(idParams, request.params).id;
}
