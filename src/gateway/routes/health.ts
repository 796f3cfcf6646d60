import * as z from "zod";
import { OPEN } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** `assertReady` throws, with the reason, while the server should be given no requests. */
export function healthRoutes(assertReady: () => void): readonly Route[] {
  const health = { method: "GET", access: OPEN, handle: async () => ({ status: "ok" }) } as const;
  const answers = { 200: z.object({ status: z.literal("ok") }) };
  return [
    defineRoute({ ...health, path: "/health", summary: "Whether the server lives", answers }),
    defineRoute({ ...health, path: "/mcp/health", summary: "As `/health`", answers }),
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
