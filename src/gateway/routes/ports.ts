import * as z from "zod";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { portLinkSchema, portsSchema, removedSchema } from "../../sandbox/wire/answer-schemas.ts";
import { dateField } from "../../sandbox/wire/fields.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import { idParams } from "./sandbox-schemas.ts";

const path = "/v1/sandboxes/:id/ports";
const linkBody = z.strictObject({
  port: z.number().int().min(1).max(65_535).describe("Port inside the sandbox"),
  access: z.enum(["token", "public"]).default("token").describe("`public` needs no token"),
  expiresAt: dateField.optional().describe("From then on the link gives access to nobody. Default: it does until it is removed"),
});
const portParams = idParams.extend({
  port: z
    .string()
    .regex(/^[1-9][0-9]{0,4}$/)
    .transform(Number),
});

/** What listens in a sandbox, and the links to it. The ports themselves are a surface of their own. */
export function portRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      access: reads("toolset:sandbox"),
      summary: "`listening`: what listens inside with TCP; `links`: the links that were made",
      params: idParams,
      answers: { 200: portsSchema },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).ports(),
    }),
    defineRoute({
      method: "POST",
      path,
      access: changes("toolset:sandbox"),
      summary: "Makes a link to a port, or gives the one that is there",
      params: idParams,
      body: linkBody,
      answers: { 201: portLinkSchema },
      handle: async (asked) =>
        (await reachSandbox(sandboxes, asked)).registerPort(asked.body.port, asked.body.access, asked.body.expiresAt),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/:port`,
      access: changes("toolset:sandbox"),
      summary: "Removes the link to a port",
      params: portParams,
      answers: { 200: removedSchema },
      handle: async (asked) => ({ removed: await (await reachSandbox(sandboxes, asked)).removePort(asked.params.port) }),
    }),
  ];
}
