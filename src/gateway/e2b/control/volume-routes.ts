import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { changes, OPEN, reads } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { RoutedSurface } from "../../surfaces/surface.ts";
import type { E2b } from "../e2b.ts";
import { secureReach } from "../e2b-domain.ts";
import { controlErrors, controlStatus } from "../e2b-errors.ts";

const SUMMARY = "Refused: volumes are not served yet";
const READS = reads("toolset:sandbox");
const CHANGES = changes("toolset:sandbox");
const CONTENT = "/volumecontent";

type Refusal = Pick<Route, "method" | "path" | "access" | "takes">;

/** Clients of E2B that ask for volumes learn why they get none. */
export function volumeRoutes(): readonly Route[] {
  const takes = { isOptional: true } as const;
  return [
    refuse({ method: "POST", path: "/volumes", access: CHANGES, takes }),
    refuse({ method: "GET", path: "/volumes", access: READS }),
    refuse({ method: "GET", path: "/volumes/:id", access: READS }),
    refuse({ method: "DELETE", path: "/volumes/:id", access: CHANGES }),
  ];
}

/** Files of volumes are asked for with a volume's token in the place of a key. There are no such tokens: everybody gets the same answer. */
export function volumeContentSurface({ domain }: Pick<E2b, "domain">): RoutedSurface {
  const path = `${CONTENT}/:id/:part`;
  const takes = { types: ["application/octet-stream", "application/json"], isOptional: true, isUntyped: true } as const;
  return {
    kind: "routed",
    name: "e2b-volumecontent",
    reach: { prefixes: [CONTENT], ...secureReach(domain, `api${CONTENT}`) },
    authentication: { opens: "e2b", localUser: "never" },
    cors: "none",
    shapeError: controlErrors,
    statusOf: controlStatus,
    routes: [
      ...(["GET", "DELETE"] as const).map((method) => refuse({ method, path, access: OPEN })),
      ...(["POST", "PUT", "PATCH"] as const).map((method) => refuse({ method, path, access: OPEN, takes })),
    ],
  };
}

function refuse(refusal: Refusal): Route {
  return defineRoute({
    ...refusal,
    summary: SUMMARY,
    ...(refusal.takes && { body: z.unknown() }),
    answers: { 200: null },
    async handle() {
      throw new BelljarError("NOT_SUPPORTED", "volumes are not served yet: use files of the sandbox or a snapshot");
    },
  });
}
