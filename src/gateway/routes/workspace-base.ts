import * as z from "zod";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { workspaceBaseSchema, workspaceTextSchema } from "../../sandbox/wire/answer-schemas.ts";
import { changes } from "../auth/access.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { idParams } from "./sandbox-schemas.ts";

const key = z.string().min(1).max(4096).describe("Path below the workspace, a character for each byte");
/** They tell what files hold, as a stream of the guest does. */
const FILES = changes("toolset:sandbox");

/**
 * How a workspace began, for `sandbox diff` and `sandbox apply` on the server's machine. The answers hold bytes and 64-bit numbers, which JSON
 * does not have: so they are encoded here.
 */
export function workspaceBaseRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/workspace-base",
      access: FILES,
      summary: "How these entries of a `copy` workspace were when the sandbox was made",
      params: idParams,
      body: z.strictObject({ keys: z.array(key).max(1000) }),
      answers: { 200: workspaceBaseSchema },
      handle: async (asked) => z.encode(workspaceBaseSchema, await (await reachSandbox(sandboxes, asked)).workspaceBase(asked.body.keys)),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/workspace-base/text",
      access: FILES,
      summary: "What one text file of a `copy` workspace held when the sandbox was made, if it was kept",
      params: idParams,
      body: z.strictObject({ key }),
      answers: { 200: workspaceTextSchema },
      async handle(asked) {
        const text = await (await reachSandbox(sandboxes, asked)).workspaceBaseText(asked.body.key);
        return z.encode(workspaceTextSchema, text ? { text } : {});
      },
    }),
  ];
}
