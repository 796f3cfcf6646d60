import type { FastifyInstance, FastifySchema, RouteHandlerMethod } from "fastify";
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

function schemaOf({ params, query, body }: Route): FastifySchema {
  return { ...(params && { params }), ...(query && { querystring: query }), ...(body && { body }) };
}
