import type { RoutedSurface } from "../../surfaces/surface.ts";
import type { E2b } from "../e2b.ts";
import { secureReach } from "../e2b-domain.ts";
import { controlStatus } from "../e2b-errors.ts";
import { createVolumeAdmission } from "./admit-volume.ts";
import { contentRoutes, CONTENT } from "./content-routes.ts";

/** The files of volumes, for whoever holds a volume's token. */
export function volumeContentSurface(e2b: E2b): RoutedSurface {
  const admission = createVolumeAdmission(e2b);
  return {
    kind: "routed",
    name: "e2b-volumecontent",
    reach: { prefixes: [CONTENT], ...secureReach(e2b.domain, `api${CONTENT}`) },
    authentication: { opens: "e2b", localUser: "never", identify: admission.identify },
    cors: "none",
    // The code is a text here.
    shapeError: ({ code, message }) => ({ code, message }),
    statusOf: controlStatus,
    routes: contentRoutes(admission),
  };
}
