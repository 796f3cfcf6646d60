import * as z from "zod";
import { OPEN } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

export function healthRoute(): Route {
  return defineRoute({
    method: "GET",
    path: "/health",
    access: OPEN,
    summary: "Whether the server lives",
    answers: { 200: z.object({ status: z.literal("ok") }) },
    handle: async () => ({ status: "ok" }),
  });
}

/** `assertReady` throws, with the reason, while the server should be given no requests. */
export function healthRoutes(assertReady: () => void): readonly Route[] {
  return [
    healthRoute(),
    { ...healthRoute(), path: "/mcp/health", summary: "As `/health`" },
    defineRoute({
      method: "GET",
      path: "/ready",
      access: OPEN,
      summary: "Whether the server takes work: 503 while it stops or cannot write its audit",
      answers: { 200: z.object({ status: z.literal("ready") }) },
      async handle() {
        assertReady();
        return { status: "ready" };
      },
    }),
  ];
}
