import * as z from "zod";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { LOCAL } from "../../../sandbox/sandbox.ts";
import { OPEN } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { ErrorShape, RoutedSurface } from "../../surfaces/surface.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import { createSandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { ENVD_PORT, INTERPRETER_PORT } from "../e2b.ts";
import { planeStatus } from "../e2b-errors.ts";
import { envdErrors } from "../envd/envd-errors.ts";
import { createEnvdParts, envdRoutes } from "../envd/envd-routes.ts";
import { interpreterErrors } from "../interpreter/interpreter-errors.ts";
import { interpreterRoutes } from "../interpreter/interpreter-routes.ts";

/** The one sandbox that clients with `E2B_DEBUG` take for theirs: a default one of the local user's. */
const NAME = "e2b-debug";
const MADE_WITHIN_MS = 60_000;

export interface DebugSurface {
  readonly port: number;
  readonly surface: RoutedSurface;
}

/**
 * E2B's two planes of one sandbox, at the ports of this machine at which E2B's SDKs look for them with `E2B_DEBUG`. These send no token: whoever
 * reaches the ports is the local user. So they are for listeners on loopback alone, and refuse the pages of every site.
 */
export function debugSurfaces(e2b: E2b): readonly DebugSurface[] {
  const find = async (): Promise<Sandbox> => {
    const options = { network: e2b.settings.network };
    return (await e2b.sandboxes.default(LOCAL, NAME, options, AbortSignal.timeout(MADE_WITHIN_MS))).sandbox;
  };
  const keys = { of: async () => [{}] };
  const admission = createSandboxAdmission({ sandboxes: { getLinked: find }, keys, turns: e2b.turns }, async () => NAME);
  const parts = createEnvdParts(admission);
  return [
    debugSurface(
      { port: ENVD_PORT, name: "e2b-debug-envd", shapeError: envdErrors, admission },
      [healthRoute(find, 204), ...envdRoutes(e2b, parts).filter(isNamed)],
      () => parts.close(),
    ),
    debugSurface({ port: INTERPRETER_PORT, name: "e2b-debug-interpreter", shapeError: interpreterErrors, admission }, [
      healthRoute(find, 200),
      ...interpreterRoutes(e2b, admission).filter(isNamed),
    ]),
  ];
}

interface DebugPlane {
  readonly port: number;
  readonly name: string;
  readonly shapeError: ErrorShape;
  readonly admission: SandboxAdmission;
}

function debugSurface(
  { port, name, shapeError, admission }: DebugPlane,
  routes: readonly Route[],
  end: () => void = () => undefined,
): DebugSurface {
  const authentication = { opens: "e2b", localUser: "never", identify: admission.identify } as const;
  return {
    port,
    surface: {
      kind: "routed",
      name,
      reach: { prefixes: ["/"] },
      authentication,
      cors: "none",
      shapeError,
      statusOf: planeStatus,
      routes,
      close: async () => end(),
    },
  };
}

/** The other planes' own asks for the sandbox that the request names, and here it names none. */
function isNamed({ path }: Route): boolean {
  return path !== "/health";
}

function healthRoute(find: () => Promise<unknown>, status: 200 | 204): Route {
  return defineRoute({
    method: "GET",
    path: "/health",
    access: OPEN,
    summary: "Whether the sandbox runs, which is made if there is none",
    answers: { [status]: status === 204 ? null : z.string() },
    async handle(asked) {
      await find();
      asked.setType("application/json");
      return status === 204 ? undefined : JSON.stringify("OK");
    },
  });
}
