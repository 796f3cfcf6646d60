import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { noTemplate } from "../../../template/parse-options.ts";
import type { OpenTemplates } from "../../../template/templates-in-steps.ts";
import { changes, reads } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import { assertTag, DEFAULT_TAG, fromDomainName, parseName, toDomainName } from "./template-names.ts";
import { buildOf, familiesOf, idParams } from "./template-schemas.ts";

const CHANGES = changes("toolset:template");
const path = "/templates/tags";

const tags = z.array(z.string().max(64)).min(1).max(32);
const tagSchema = z.object({ tag: z.string(), buildID: z.string(), createdAt: z.string() });

/** Further names of builds. Each is a template of its own, in the same layers. */
export function templateTagRoutes(open: OpenTemplates): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Gives tags to the build that a name and a tag stand for",
      body: z.object({ target: z.string().min(1).max(200), tags }),
      answers: { 201: z.object({ buildID: z.string(), tags: z.array(z.string()).readonly() }) },
      async handle({ caller, body, signal }) {
        const templates = await open();
        const target = parseName(body.target, caller);
        const wanted = toTags(body.tags);
        const from = toDomainName(target);
        const found = await templates.info(caller, from);
        if (found.owner !== caller.id) throw noTemplate(body.target);
        for (const tag of wanted.filter((one) => one !== target.tag))
          await templates.copy(caller, from, toDomainName({ name: target.name, tag }), signal);
        return { buildID: buildOf(found), tags: wanted };
      },
    }),
    removeTagsRoute(open),
    defineRoute({
      method: "GET",
      path: "/templates/:id/tags",
      access: reads("toolset:template"),
      summary: "The tags of a template of the caller's",
      params: idParams,
      answers: { 200: z.array(tagSchema).readonly() },
      async handle({ caller, params: { id } }) {
        const all = await tagsOf(open, caller, id);
        return all.map((one) => ({
          tag: fromDomainName(one.name).tag,
          buildID: buildOf(one),
          createdAt: one.createdAt.toISOString(),
        }));
      },
    }),
  ];
}

function removeTagsRoute(open: OpenTemplates): Route {
  return defineRoute({
    method: "DELETE",
    path,
    access: CHANGES,
    summary: "Takes tags from a template. `default` stays as long as the template does",
    body: z.object({ name: z.string().min(1).max(200), tags }),
    answers: { 204: null },
    async handle({ caller, body }) {
      const wanted = toTags(body.tags);
      if (wanted.includes(DEFAULT_TAG))
        throw new BelljarError("ARGUMENTS_INVALID", "The tag default cannot be removed: remove the template");
      const { name } = parseName(body.name, caller);
      const all = await tagsOf(open, caller, body.name);
      const names = wanted.map((tag) => toDomainName({ name, tag }));
      const missing = names.find((one) => !all.some((found) => found.name === one));
      if (missing !== undefined) throw noTemplate(missing);
      for (const one of names) await (await open()).remove(caller, one);
    },
  });
}

async function tagsOf(open: OpenTemplates, caller: Principal, text: string) {
  const { name } = parseName(text, caller);
  const found = familiesOf(await (await open()).list(caller), caller).find((one) => one.name === name);
  if (found) return found.tags;
  throw noTemplate(text);
}

function toTags(said: readonly string[]): readonly string[] {
  const all = [...new Set(said.map((one) => one.trim().toLowerCase()))];
  all.forEach(assertTag);
  return all;
}
