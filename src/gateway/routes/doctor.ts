import { hostIsolationSchema } from "../../sandbox/wire/answer-schemas.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";
import { reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

export function doctorRoute(isolation: () => Promise<HostIsolation>): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/doctor",
    access: reads("toolset:sandbox"),
    summary: "What this host enforces, by runtime",
    answers: { 200: hostIsolationSchema },
    handle: () => isolation(),
  });
}
