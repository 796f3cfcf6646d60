import * as z from "zod";
import { noUserTools, type UnitLife } from "../../dynamic/unit-life.ts";
import { UNITS_PAGE_MAX } from "../../dynamic/unit-pages.ts";
import {
  givenUnitSchema,
  testedSchema,
  unitChangesSchema,
  unitDetailSchema,
  unitSchema,
  unitPageSchema,
} from "../../dynamic/wire/unit-schema.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { pageFields } from "./sandbox-schemas.ts";
import { defineRoute } from "./route.ts";

const READS = reads("toolset:tools");
const CHANGES = changes("toolset:tools");

const params = z.object({ name: z.string().min(1).max(200) });
const version = z.coerce.number().int().positive().optional();
const versionParams = params.extend({ version: z.coerce.number().int().positive() });
const path = "/v1/tools/:name";

const listQuery = z.strictObject({
  ...pageFields,
  limit: pageFields.limit.describe(`The most tools of the page. Default, and never more: ${UNITS_PAGE_MAX}`),
});

const { name: _name, ...updateFields } = givenUnitSchema.shape;

/** A switch changes no version, so it comes alone. */
const patchBody = unitChangesSchema
  .extend({ isDisabled: z.boolean().optional(), isShared: z.boolean().optional() })
  .refine(({ publish, ...body }) => {
    const isSwitch = body.isDisabled !== undefined || body.isShared !== undefined;
    const { length } = Object.keys(body);
    return isSwitch ? length === 1 && publish === undefined : length > 0;
  }, "name what changes, or isDisabled alone, or isShared alone");

/** The caller's own tools. What they give callers is for who may publish, whichever route asks for it. */
export function toolRoutes(life: () => Promise<UnitLife> = noUserTools): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/tools",
      access: READS,
      summary: "One page of the caller's own tools, by name; `?limit=N&cursor=C`, C being `nextCursor` of the page before",
      query: listQuery,
      answers: { 200: unitPageSchema },
      handle: async ({ caller, query }) => (await life()).list(caller, query),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/tools",
      access: CHANGES,
      summary: "Keeps code as a new tool, a draft. Its schemas are read in a sandbox; what cannot be read is refused and not kept",
      body: givenUnitSchema,
      answers: { 201: unitSchema },
      handle: async ({ caller, body: { name, publish = false, ...spec }, signal }) =>
        (await life()).add(caller, { name, spec }, signal, { publish }),
    }),
    defineRoute({
      method: "GET",
      path,
      access: READS,
      summary: "All about a tool, with its code: of the version that callers have, or of another one",
      params,
      query: z.object({ version }),
      answers: { 200: unitDetailSchema },
      handle: async ({ caller, params: { name }, query }) => (await life()).get(caller, name, query.version),
    }),
    ...changingRoutes(life),
    ...versionRoutes(life),
  ];
}

function changingRoutes(life: () => Promise<UnitLife>): readonly Route[] {
  return [
    defineRoute({
      method: "PUT",
      path,
      access: CHANGES,
      summary:
        "Keeps code as the newest version of a tool, which has nothing else of the one before. Callers have the one before until it is published",
      params,
      body: z.strictObject(updateFields),
      answers: { 200: unitSchema },
      handle: async ({ caller, params: { name }, body: { publish = false, ...spec }, signal }) =>
        (await life()).update(caller, { name, spec }, signal, { publish }),
    }),
    defineRoute({
      method: "PATCH",
      path,
      access: CHANGES,
      summary:
        "Keeps the newest version of a tool with changes as its newest version: what is not given stays, and null clears it. Or switches a tool on or off (`isDisabled`), or shares it with every caller or with nobody (`isShared`); each of these alone",
      params,
      body: patchBody,
      answers: { 200: unitSchema },
      handle: async ({
        caller,
        params: { name },
        body: { isDisabled, isShared, publish = false, resolvesAgain = false, ...changes },
        signal,
      }) => {
        const tools = await life();
        if (isDisabled !== undefined) return tools.setDisabled(caller, name, isDisabled);
        if (isShared !== undefined) return tools.share(caller, name, isShared);
        return tools.update(caller, { name, changes, resolvesAgain }, signal, { publish });
      },
    }),
    defineRoute({
      method: "DELETE",
      path,
      access: CHANGES,
      summary: "Removes a tool with all its versions",
      params,
      answers: { 204: null },
      handle: async ({ caller, params: { name } }) => (await life()).remove(caller, name),
    }),
  ];
}

function versionRoutes(life: () => Promise<UnitLife>): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: `${path}/versions`,
      access: READS,
      summary: "The versions of a tool, oldest first",
      params,
      answers: { 200: unitDetailSchema.pick({ versions: true }) },
      handle: async ({ caller, params: { name } }) => ({ versions: (await (await life()).get(caller, name)).versions }),
    }),
    defineRoute({
      method: "POST",
      path: `${path}/versions/:version/rollback`,
      access: CHANGES,
      summary: "Gives callers an earlier version again",
      params: versionParams,
      answers: { 200: unitSchema },
      handle: async ({ caller, params: { name, version: number } }) => (await life()).rollback(caller, name, number),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/tests`,
      access: READS,
      summary: "The tests of a tool",
      params,
      answers: { 200: unitDetailSchema.pick({ tests: true }) },
      handle: async ({ caller, params: { name } }) => ({ tests: (await (await life()).get(caller, name)).tests ?? [] }),
    }),
    defineRoute({
      method: "POST",
      path: `${path}/test`,
      access: CHANGES,
      summary: "Runs the tests of the newest version of a tool, or of another one",
      params,
      query: z.object({ version }),
      answers: { 200: testedSchema },
      handle: async ({ caller, params: { name }, query, signal }) => (await life()).test(caller, name, signal, { number: query.version }),
    }),
    defineRoute({
      method: "POST",
      path: `${path}/publish`,
      access: CHANGES,
      summary: "Gives callers the newest version of a tool, or another one, if its tests pass",
      params,
      query: z.object({ version }),
      answers: { 200: unitSchema },
      handle: async ({ caller, params: { name }, query, signal }) => (await life()).publish(caller, name, signal, query.version),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/calls`,
      access: READS,
      summary: "How often a tool was called on this server, and what went wrong last",
      params,
      answers: { 200: unitDetailSchema.pick({ stats: true, lastErrors: true }) },
      handle: async ({ caller, params: { name } }) => {
        const { stats, lastErrors } = await (await life()).get(caller, name);
        return { stats, lastErrors };
      },
    }),
  ];
}
