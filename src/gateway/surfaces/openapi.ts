import { fastify } from "fastify";
import type { FastifySchema } from "fastify";
import * as z from "zod";
import type { Access } from "../auth/access.ts";
import { validatorOf } from "../parse-request.ts";
import type { Route } from "../routes/route.ts";
import { methodAndPath } from "../routes/route.ts";
import { addRoutes } from "../routes/routes.ts";
import type { UpgradeRoute } from "../routes/upgrade-route.ts";
import type { RoutedSurface } from "./surface.ts";

/** OpenAPI 3.1. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

const INFO = { title: "Belljar", description: "Sandboxes for AI agents, and their tools over plain HTTP" };
/** Of the whole document; what a surface of another error shape answers is not described here. */
const FAILURE = z.object({
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean(), requestId: z.string() }),
});

/**
 * What the routes of these surfaces take and answer, from the schemas that check their requests. They are added once more, to an app
 * that serves nobody, so that the document costs nothing until somebody asks for it.
 */
export async function createOpenApi(surfaces: readonly RoutedSurface[], version: string): Promise<OpenApiDocument> {
  const { fastifySwagger } = await import("@fastify/swagger");
  const app = fastify({ exposeHeadRoutes: false });
  const components = { securitySchemes: { token: { type: "http" as const, scheme: "bearer" } } };
  await app.register(fastifySwagger, {
    openapi: { openapi: "3.1.0", info: { ...INFO, version }, components },
    transform: ({ url, route: { config } }) => ({ url, schema: config?.route ? describe(config.route) : {} }),
  });
  app.setValidatorCompiler(validatorOf);
  for (const { routes, upgrades = [] } of surfaces) addRoutes(app, [...routes, ...upgrades.map(asRoute)], () => async () => undefined);
  await app.ready();
  const document = app.swagger();
  await app.close();
  return { ...document };
}

function describe(route: Route): FastifySchema {
  const { summary, params, query, body, access } = route;
  const more = { operationId: operationIdOf(route), summary, security: securityOf(access), response: responsesOf(route) };
  return {
    ...more,
    ...(params && { params: toJsonSchema(params) }),
    ...(query && { querystring: toJsonSchema(query) }),
    ...(body && { body: toJsonSchema(body) }),
  };
}

/** What leaves HTTP, as the request that asks for it. */
function asRoute({ path, access, summary }: UpgradeRoute): Route {
  return { method: "GET", path, access, summary, answers: { 101: null }, handle: async () => undefined };
}

function responsesOf({ answers, access, params, query, body, takes }: Route): Readonly<Record<string, unknown>> {
  const failures = {
    ...((params ?? query ?? body) && { 400: "The request is not as described" }),
    ...(access.kind !== "open" && { 401: "The token is missing or not valid" }),
    ...(access.kind === "scoped" && { 403: "The caller may not" }),
    ...((body ?? takes) && { 413: "The body is too large", 415: "The body is of a type that this route does not take" }),
    ...(access.kind !== "open" && { 429: "A quota of the caller is used up; `Retry-After` says when to ask again, where that is known" }),
    default: "Refused or failed",
  };
  return {
    ...Object.fromEntries(Object.entries(answers).map(([status, schema]) => [status, answerOf(schema)])),
    ...Object.fromEntries(Object.entries(failures).map(([status, description]) => [status, { description, ...FAILURE_SCHEMA }])),
  };
}

function answerOf(schema: z.ZodType | null): unknown {
  if (schema === null) return { description: "Done", type: "null" };
  const { contentTypes = ["application/json"], ...described } = toJsonSchema(schema);
  return { description: "OK", content: Object.fromEntries([contentTypes].flat().map((type) => [String(type), { schema: described }])) };
}

/** Whoever has one of these is served; without a token a caller on loopback is the local user, who has them all. */
function securityOf(access: Access): readonly Readonly<Record<string, readonly string[]>>[] {
  if (access.kind === "open") return [];
  return [{ token: access.kind === "scoped" ? access.scopes : [] }, {}];
}

function operationIdOf(route: Route): string {
  return methodAndPath(route)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .join("_");
}

/** As it stands on the wire. Throws for a schema that JSON Schema cannot say. */
function toJsonSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" });
  return rest;
}

const FAILURE_SCHEMA = { content: { "application/json": { schema: toJsonSchema(FAILURE) } } };
