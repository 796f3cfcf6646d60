import type { IncomingMessage } from "node:http";
import type { PortRouterOptions } from "../../../network/ports/port-router.ts";
import { createPortRouter } from "../../../network/ports/port-router.ts";
import type { RawSurface } from "../../surfaces/surface.ts";
import { answerPreflight, isPreflight } from "../../surfaces/cors.ts";
import type { E2b } from "../e2b.ts";
import { secureReach } from "../e2b-domain.ts";
import { findTarget } from "../target.ts";
import { e2bPortTarget } from "./e2b-port-target.ts";
import { findE2bPort } from "./find-e2b-port.ts";
import { tellPortFailure } from "./tell-port-failure.ts";

/** The ports of the sandboxes that E2B's clients made: by the two headers at the server's own names, and by `PORT-ID.DOMAIN`. */
export function e2bPortsSurface(e2b: E2b, shared: Pick<PortRouterOptions, "isOwnName" | "isOwnToken" | "onFailure">): RawSurface {
  const { domain } = e2b;
  const router = createPortRouter({
    ...shared,
    find: findE2bPort(e2b),
    tellsUnknown: true,
    parseTarget: (request) => e2bPortTarget(request, domain?.name),
    tell: async (failure, request) => tellPortFailure(failure, request),
  });
  return {
    kind: "raw",
    name: "e2b-ports",
    reach: { headers: ["e2b-sandbox-id", "e2b-sandbox-port"], ...secureReach(domain, "*") },
    handle(request, response) {
      if (asksForHeaders(request)) answerPreflight(request, response);
      else router.handle(request, response);
    },
    upgrade: ({ request, socket, head }) => router.upgrade(request, socket, head),
    close: () => router.close(),
  };
}

/** Under a name of its own the program inside answers this. */
function asksForHeaders(request: IncomingMessage): boolean {
  return isPreflight(request) && !findTarget(request);
}
