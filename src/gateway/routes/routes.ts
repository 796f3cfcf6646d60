import type { FastifyInstance, FastifySchema, RouteHandlerMethod } from "fastify";
import * as z from "zod";
import type { Access } from "../auth/access.ts";
import { assertDeclared } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { methodAndPath } from "./route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly access?: Access;
    readonly route?: Route;
  }
}

/** What is served under one method and path. */
export interface ServedRoute {
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  /** Empty for a route that is no `Route`, as a plugin's. */
  readonly summary: string;
}

/**
 * Has every route of the app, and of whatever is registered in it, say what it asks of its caller: one that does not throws as it is
 * added, and the server does not start. Returns the routes, as they come.
 */
export function requireAccess(app: FastifyInstance): readonly ServedRoute[] {
  const served: ServedRoute[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    const summary = config?.route?.summary ?? "";
    for (const one of [method].flat())
      served.push({ method: one, path: url, access: assertDeclared(config?.access, `${one} ${url}`), summary });
  });
  return served;
}

/** Throws for a route that does not say what it asks of its caller. Its schemas are checked by the app's validator. */
export function addRoutes(app: FastifyInstance, routes: readonly Route[], toHandler: (route: Route) => RouteHandlerMethod): void {
  for (const route of routes) {
    const { method, path: url, access, takes } = route;
    const config = { access: assertDeclared(access, methodAndPath(route)), route };
    const limit = takes?.limitBytes === undefined ? {} : { bodyLimit: takes.limitBytes };
    app.route({ method, url, config, schema: schemaOf(route), ...limit, handler: toHandler(route) });
  }
}

function schemaOf(route: Route): FastifySchema {
  const { params, query, body = bodyOfNone(route) } = route;
  return { ...(params && { params }), ...(query && { querystring: query }), ...(body && { body }) };
}

/** What a caller writes into a body that nothing reads would be ignored without a word. Some clients send an empty object. */
function bodyOfNone({ method, path, query, takes }: Route): z.ZodType | undefined {
  if (method === "GET" || takes) return undefined;
  const named = query instanceof z.ZodObject ? Object.keys(query.shape).join(", ") : "";
  const message = `${method} ${path} takes no body${named === "" ? "" : `: ${named} is part of the query`}`;
  return z.unknown().refine((body) => body === undefined || body === null || isEmptyObject(body), message);
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
