import * as z from "zod";
import { assertNetworkGranted } from "../../../sandbox/grants.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { findInfo, idParams } from "./find-sandbox.ts";
import { alreadyPaused } from "./lifecycle.ts";
import { egressFields, toPolicy } from "./network-wish.ts";
import { stateOf } from "./sandbox-answer.ts";
import { CHANGES } from "./scopes.ts";

const updateSchema = z.object({ ...egressFields, allow_internet_access: z.boolean().nullish() });

export function networkRoutes({ sandboxes, settings }: E2b): readonly Route[] {
  return [
    defineRoute({
      method: "PUT",
      path: "/sandboxes/:id/network",
      access: CHANGES,
      summary: "Replaces what a sandbox may reach, for open connections too. What is left out is as for a new sandbox. 409 if it is paused",
      params: idParams,
      body: updateSchema,
      answers: { 204: null },
      async handle(asked) {
        const { caller, body } = asked;
        const info = await findInfo(sandboxes, asked);
        if (stateOf(info) === "paused") throw alreadyPaused(info.id);
        const policy = await toPolicy(body, settings, caller);
        await assertNetworkGranted(policy, caller);
        await (await sandboxes.get(withoutInside(caller), info.id)).setNetwork(policy);
      },
    }),
  ];
}

/** The same caller without its scopes for places inside: a change gives the sandbox none of them, as its create did not. */
function withoutInside({ grants, ...caller }: Principal): Principal {
  const { network: _, ...rest } = grants ?? {};
  return { ...caller, grants: rest };
}
