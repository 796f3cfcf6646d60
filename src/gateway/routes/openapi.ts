import * as z from "zod";
import { OPEN } from "../auth/access.ts";
import type { OpenApiDocument } from "../surfaces/openapi.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

export function openApiRoute(openApi: () => Promise<OpenApiDocument>): Route {
  return defineRoute({
    method: "GET",
    path: "/openapi.json",
    access: OPEN,
    summary: "The routes of REST, and tools over plain HTTP, as OpenAPI 3.1",
    answers: { 200: z.looseObject({ openapi: z.string() }) },
    handle: openApi,
  });
}
