import { OPEN } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

/** `assertReady` throws, with the reason, while the server should be given no requests. */
export function healthRoute(assertReady: () => void): RouteGroup {
  return (routes) => {
    routes.get("/health", OPEN, async () => ({ status: "ok" }));
    routes.get("/mcp/health", OPEN, async () => ({ status: "ok" }));
    routes.get("/ready", OPEN, async () => {
      assertReady();
      return { status: "ready" };
    });
  };
}
