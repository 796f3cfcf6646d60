import * as z from "zod";
import { noTemplates, type Templates } from "../../template/templates.ts";
import { prunedSchema, templateOptionsSchema, templateSchema, templatesSchema } from "../../template/wire/template-schema.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { templateBuildRoutes } from "./template-builds.ts";

const READS = reads("toolset:template");
const CHANGES = changes("toolset:template");

const params = z.object({ name: z.string().min(1).max(63) });

/** What sandboxes can start from beside what the runtimes have. Without templates, where no home is, every call says so. */
export function templateRoutes(templates: () => Promise<Templates> = noTemplates): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/templates",
      access: READS,
      summary: "The caller's templates, and those that others share",
      answers: { 200: templatesSchema },
      handle: async ({ caller }) => ({ templates: await (await templates()).list(caller) }),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/templates",
      access: CHANGES,
      summary: "Makes a template from an image, a snapshot or a Dockerfile, and answers once it is made. One of the same name is replaced",
      body: templateOptionsSchema,
      answers: { 201: templateSchema },
      handle: async ({ caller, body, signal }) => (await templates()).make(caller, body, signal),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/templates/prune",
      access: CHANGES,
      summary: "Removes the steps of the caller's builds that were kept for later ones",
      answers: { 200: prunedSchema },
      handle: async ({ caller }) => (await templates()).prune(caller),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/templates/:name",
      access: READS,
      summary: "All about a template",
      params,
      answers: { 200: templateSchema },
      handle: async ({ caller, params: { name } }) => (await templates()).info(caller, name),
    }),
    defineRoute({
      method: "PUT",
      path: "/v1/templates/:name/shared",
      access: CHANGES,
      summary: "Shares a template with every caller, or with nobody",
      params,
      body: z.strictObject({ isShared: z.boolean() }),
      answers: { 200: templateSchema },
      handle: async ({ caller, params: { name }, body }) => (await templates()).share(caller, name, body.isShared),
    }),
    defineRoute({
      method: "DELETE",
      path: "/v1/templates/:name",
      access: CHANGES,
      summary: "Removes a template. Sandboxes that were made from it keep their files",
      params,
      answers: { 204: null },
      handle: async ({ caller, params: { name } }) => (await templates()).remove(caller, name),
    }),
    ...templateBuildRoutes(async () => (await templates()).builds),
  ];
}
