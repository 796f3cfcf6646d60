import type { Route } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { secretRoutes } from "./secret-routes.ts";
import { teamRoutes } from "./team-routes.ts";
import { templateRoutes } from "./template-routes.ts";
import { forkRoutes } from "./fork-routes.ts";
import { lifeRoutes } from "./life-routes.ts";
import { networkRoutes } from "./network-routes.ts";
import { observeRoutes } from "./observe-routes.ts";
import { sandboxRoutes } from "./sandbox-routes.ts";
import { snapshotRoutes } from "./snapshot-routes.ts";
import { volumeRoutes } from "./volume-routes.ts";

/** What E2B's control plane serves. */
export function controlRoutes(e2b: E2b): readonly Route[] {
  return [
    ...sandboxRoutes(e2b),
    ...lifeRoutes(e2b),
    ...networkRoutes(e2b),
    ...observeRoutes(e2b),
    ...snapshotRoutes(e2b),
    ...forkRoutes(e2b),
    ...templateRoutes(e2b),
    ...secretRoutes(e2b),
    ...volumeRoutes(e2b),
    ...teamRoutes(),
  ];
}
