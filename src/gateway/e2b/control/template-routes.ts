import * as z from "zod";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { noTemplate } from "../../../template/parse-options.ts";
import type { OpenTemplates, TemplatesInSteps } from "../../../template/templates-in-steps.ts";
import { noTemplates } from "../../../template/templates.ts";
import { assertGranted, changes, reads } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { ENVD_VERSION } from "../e2b.ts";
import { findSnapshot, removeSnapshot } from "./snapshots.ts";
import { teamOf } from "./team.ts";
import { templateBuildRoutes } from "./template-build-routes.ts";
import { templateFileRoutes } from "./template-file-routes.ts";
import { findName, isBase, parseName, toBuildId, toDomainName } from "./template-names.ts";
import { templatePlanRoutes } from "./template-plan-routes.ts";
import {
  buildOf,
  familiesOf,
  idParams,
  sizeOf,
  templateBuildsSchema,
  type TemplateFamily,
  templatesSchema,
  toTemplate,
} from "./template-schemas.ts";
import { templateTagRoutes } from "./template-tag-routes.ts";

const READS = reads("toolset:template");
const CHANGES = changes("toolset:template");
/** As Belljar's own API asks. */
const CHANGES_SNAPSHOTS = changes("toolset:sandbox");

const pageQuery = z.object({ limit: z.coerce.number().int().min(1).max(100).default(100), nextToken: z.string().max(500).optional() });
const publicBody = z.object({ public: z.boolean().optional() });

/** The caller's templates, how they are built and what they are called. */
export function templateRoutes(e2b: E2b): readonly Route[] {
  const open = e2b.templates ?? noTemplates;
  return [
    ...templatePlanRoutes(open),
    ...templateFileRoutes(open),
    ...templateBuildRoutes(e2b, open),
    ...templateTagRoutes(open),
    ...listRoutes(open),
    ...aliasRoutes(open),
    ...publishRoutes(open),
    removeRoute(e2b, open),
  ];
}

function listRoutes(open: OpenTemplates): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/templates",
      access: READS,
      summary: "The caller's own templates",
      answers: { 200: templatesSchema },
      handle: async ({ caller }) => familiesOf(await (await open()).list(caller), caller).map((one) => toTemplate(one, caller)),
    }),
    defineRoute({
      method: "GET",
      path: "/v2/templates",
      access: READS,
      summary: "The same in pages, by name: `x-next-token` names the next one",
      query: pageQuery,
      answers: { 200: templatesSchema },
      async handle(asked) {
        const {
          caller,
          query: { limit, nextToken },
        } = asked;
        const after = nextToken === undefined ? "" : Buffer.from(nextToken, "base64url").toString();
        const all = familiesOf(await (await open()).list(caller), caller).toSorted((one, other) => (one.name < other.name ? -1 : 1));
        const rest = all.filter(({ name }) => name > after);
        const page = rest.slice(0, limit);
        if (rest.length > limit) asked.setHeader("x-next-token", Buffer.from(page.at(-1)?.name ?? "").toString("base64url"));
        return page.map((one) => toTemplate(one, caller));
      },
    }),
    defineRoute({
      method: "GET",
      path: "/templates/:id",
      access: READS,
      summary: "A template of the caller's, with its builds",
      params: idParams,
      answers: { 200: templateBuildsSchema },
      handle: async ({ caller, params: { id } }) => withBuilds(await open(), caller, await findFamily(await open(), caller, id)),
    }),
  ];
}

/** All tags of it. Rejects with `TEMPLATE_NOT_FOUND`. */
async function findFamily(templates: TemplatesInSteps, caller: Principal, text: string): Promise<TemplateFamily> {
  const { name } = parseName(text, caller);
  const found = familiesOf(await templates.list(caller), caller).find((one) => one.name === name);
  if (found) return found;
  throw noTemplate(text);
}

async function withBuilds(
  { planned }: TemplatesInSteps,
  caller: Principal,
  family: TemplateFamily,
): Promise<z.output<typeof templateBuildsSchema>> {
  const { name, tags } = family;
  const { templateID, public: isPublic, aliases, names, createdAt, updatedAt, lastSpawnedAt, spawnCount } = toTemplate(family, caller);
  const told = new Set(tags.map(buildOf));
  const others = (await planned.list(caller)).filter((one) => one.names.some((full) => full === name || full.startsWith(`${name}.`)));
  const made = tags
    .filter((one, index) => tags.findIndex((other) => buildOf(other) === buildOf(one)) === index)
    .map((one) => ({ ...timesOf(one.createdAt, one.createdAt), buildID: buildOf(one), status: "ready" as const, ...sizeOf(one) }));
  const unmade = others
    .map((one) => ({ one, buildID: toBuildId(one.id) }))
    .filter(({ buildID }) => !told.has(buildID))
    .map(({ one, buildID }) => ({
      ...timesOf(one.startedAt, one.endedAt),
      buildID,
      status: one.state === "failed" ? ("error" as const) : one.state,
      ...sizeOf({ bytes: 0 }),
    }));
  const builds = [...made, ...unmade].map((one) => ({ ...one, envdVersion: ENVD_VERSION }));
  return { templateID, public: isPublic, aliases, names, createdAt, updatedAt, lastSpawnedAt, spawnCount, builds };
}

function timesOf(at: Date, end: Date | undefined) {
  const [createdAt, finishedAt] = [at.toISOString(), end?.toISOString()];
  return { createdAt, updatedAt: finishedAt ?? createdAt, ...(finishedAt !== undefined && { finishedAt }) };
}

function aliasRoutes(open: OpenTemplates): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/templates/aliases/:alias",
      access: READS,
      summary: "Whether there is a template of this name that the caller may start from. Another owner's is none",
      params: z.object({ alias: z.string().min(1).max(200) }),
      answers: { 200: z.object({ templateID: z.string(), public: z.boolean() }) },
      async handle({ caller, params: { alias } }) {
        if (isBase(alias)) return { templateID: "base", public: true };
        const found = parseName(alias, caller);
        const { isShared } = await (await open()).info(caller, toDomainName(found));
        return { templateID: found.name, public: isShared };
      },
    }),
  ];
}

function publishRoutes(open: OpenTemplates): readonly Route[] {
  const publish = async (caller: Principal, id: string, isShared: boolean | undefined): Promise<TemplateFamily> => {
    const family = await findFamily(await open(), caller, id);
    if (isShared !== undefined) for (const { name } of family.tags) await (await open()).share(caller, name, isShared);
    return family;
  };
  return [
    defineRoute({
      method: "PATCH",
      path: "/v2/templates/:id",
      access: CHANGES,
      summary: "Shares a template with every caller, or with nobody",
      params: idParams,
      body: publicBody,
      answers: { 200: z.object({ names: z.array(z.string()).readonly() }) },
      async handle({ caller, params: { id }, body }) {
        const { name } = await publish(caller, id, body.public);
        return { names: [`${teamOf(caller).slug}/${name}`] };
      },
    }),
    defineRoute({
      method: "PATCH",
      path: "/templates/:id",
      access: CHANGES,
      summary: "The same, as earlier clients ask for it",
      params: idParams,
      body: publicBody,
      answers: { 200: null },
      handle: async ({ caller, params: { id }, body }) => void (await publish(caller, id, body.public)),
    }),
  ];
}

/** A snapshot goes by the same route, as clients know both as templates, but not for a key that may change templates alone. */
function removeRoute({ sandboxes }: Pick<E2b, "sandboxes">, open: OpenTemplates): Route {
  return defineRoute({
    method: "DELETE",
    path: "/templates/:id",
    access: CHANGES,
    summary: "Removes a template with all its tags, or the one tag that is named, or a snapshot",
    params: idParams,
    answers: { 204: null },
    async handle({ caller, params: { id } }) {
      const templates = await open();
      const named = findName(id, caller);
      const found = familiesOf(await templates.list(caller), caller).find((one) => one.name === named?.name);
      const wanted = found?.tags.filter((one) => !named?.hasTag || one.name === toDomainName(named)) ?? [];
      for (const one of wanted) await templates.remove(caller, one.name);
      if (wanted.length > 0) return;
      if (!(await findSnapshot(sandboxes, caller, id))) throw noTemplate(id);
      assertGranted(caller, CHANGES_SNAPSHOTS, "the removal of a snapshot");
      if (!(await removeSnapshot(sandboxes, caller, id))) throw noTemplate(id);
    },
  });
}
