import * as z from "zod";
import { networkPolicySchema } from "../../sandbox/network-schema.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { environmentSchema, refusalsSchema } from "../../sandbox/wire/answer-schemas.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import { idParams } from "./sandbox-schemas.ts";

const path = "/v1/sandboxes/:id/network";

/** What a sandbox may reach, and the variables that its commands get. */
export function networkRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      access: reads("toolset:sandbox"),
      summary: "Its network policy, and its ceiling: the widest policy that a tool may give it",
      params: idParams,
      answers: { 200: z.object({ policy: networkPolicySchema, ceiling: networkPolicySchema }) },
      async handle({ caller, params: { id } }) {
        const { network: policy, networkCeiling: ceiling = policy } = await sandboxes.info(caller, id);
        return { policy, ceiling };
      },
    }),
    defineRoute({
      method: "PUT",
      path,
      access: changes("toolset:sandbox"),
      summary: "Changes the policy, for live connections too; with `capped` only within the ceiling",
      params: idParams,
      body: z.strictObject({
        policy: networkPolicySchema.describe('`{"allow": ["npm"]}` holds rules, or the names of sets'),
        capped: z.boolean().default(false).describe("Refuse a policy beyond the ceiling"),
      }),
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).setNetwork(asked.body.policy, { capped: asked.body.capped }),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/refusals",
      access: changes("toolset:sandbox"),
      summary:
        "Connections that were refused since the last question and in no tool's result; a closed network refuses in words from now on",
      params: idParams,
      answers: { 200: refusalsSchema },
      async handle(asked) {
        using refusals = await (await reachSandbox(sandboxes, asked)).watchRefusals();
        return { lines: await refusals.tell() };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/sandboxes/:id/environment",
      access: reads("toolset:sandbox"),
      summary: "The variables that each of its commands gets",
      params: idParams,
      answers: { 200: environmentSchema },
      handle: async (asked) => ({ env: await (await reachSandbox(sandboxes, asked)).environment() }),
    }),
  ];
}
