import type { Isolation } from "../../runtime/runtime.ts";
import { reads } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

/** What this server's host enforces. */
export function doctorRoute(isolation: () => Promise<Isolation>): RouteGroup {
  return (routes) => {
    routes.get("/v1/doctor", reads("toolset:sandbox"), async () => isolation());
  };
}
