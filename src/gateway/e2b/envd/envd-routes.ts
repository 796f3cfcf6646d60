import * as z from "zod";
import { OPEN } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { fileRoutes } from "./file-routes.ts";
import type { PolledWatchers } from "./files/polled-watchers.ts";
import { filesystemRoutes } from "./filesystem-routes.ts";
import { processRoutes } from "./process-routes.ts";
import { assertAlive } from "./assert-alive.ts";
import { factRoutes } from "./fact-routes.ts";
import type { ProcessTables } from "./process/process-tables.ts";

export interface EnvdParts {
  readonly admission: SandboxAdmission;
  readonly processes: ProcessTables;
  readonly watchers: PolledWatchers;
}

/** What E2B's program in a sandbox serves there, served in front of it. */
export function envdRoutes(e2b: E2b, { admission, processes, watchers }: EnvdParts): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/health",
      access: OPEN,
      summary: "Whether the sandbox that the request names runs",
      query: z.object({}),
      answers: { 204: null },
      handle: async ({ request }) => assertAlive(e2b, request),
    }),
    ...factRoutes(admission),
    ...processRoutes(e2b, admission, processes),
    ...filesystemRoutes(e2b, admission, watchers),
    ...fileRoutes(e2b, admission),
  ];
}
