import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import type { Access } from "../auth/access.ts";
import { assertDeclared } from "../auth/access.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly access?: Access;
  }
}

type Add = (path: string, access: Access, handler: RouteHandlerMethod) => void;

/** Where routes are added, each with what it asks of its caller. */
export interface Routes extends Readonly<Record<"get" | "post" | "put" | "delete", Add>> {
  /** For these routes alone. */
  readonly onError: FastifyInstance["setErrorHandler"];
}

/** A group of routes that belong together. */
export type RouteGroup = (routes: Routes) => void;

/** What is served under one method and path. */
export interface ServedRoute {
  readonly method: string;
  readonly path: string;
  readonly access: Access;
}

/**
 * Has every route of the app, and of whatever is registered in it, say what it asks of its caller: one that does not throws as it is
 * added, and the server does not start. Returns the routes, as they come.
 */
export function requireAccess(app: FastifyInstance): readonly ServedRoute[] {
  const served: ServedRoute[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    for (const one of [method].flat()) served.push({ method: one, path: url, access: assertDeclared(config?.access, `${one} ${url}`) });
  });
  return served;
}

/** Adds the group, each of its paths behind the prefix. */
export function addRoutes(app: FastifyInstance, group: RouteGroup, prefix = ""): void {
  void app.register(
    async (scoped) => {
      const add =
        (method: "get" | "post" | "put" | "delete"): Add =>
        (path, access, handler) =>
          void scoped[method](path, { config: { access: assertDeclared(access, `${method.toUpperCase()} ${path}`) } }, handler);
      const onError = scoped.setErrorHandler.bind(scoped);
      group({ get: add("get"), post: add("post"), put: add("put"), delete: add("delete"), onError });
    },
    { prefix },
  );
}
