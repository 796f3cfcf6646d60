import type { IncomingHttpHeaders } from "node:http";
import type { PortRouterOptions } from "../../network/ports/port-router.ts";
import type { Reach, Surface } from "../surfaces/surface.ts";
import { createSandboxAdmission } from "./admit-sandbox.ts";
import { controlRoutes } from "./control/control-routes.ts";
import { uploadSurface } from "./control/template-file-routes.ts";
import { volumeContentSurface } from "./volumes/volume-content-surface.ts";
import type { E2b } from "./e2b.ts";
import { ENVD_PORT, INTERPRETER_PORT } from "./e2b.ts";
import { secureReach } from "./e2b-domain.ts";
import { controlErrors, controlStatus, planeStatus } from "./e2b-errors.ts";
import { envdErrors } from "./envd/envd-errors.ts";
import { createEnvdParts, envdRoutes } from "./envd/envd-routes.ts";
import { findFilesHolder } from "./envd/find-holder.ts";
import { findCodeHolder } from "./interpreter/find-holder.ts";
import { interpreterErrors } from "./interpreter/interpreter-errors.ts";
import { interpreterRoutes } from "./interpreter/interpreter-routes.ts";
import { e2bPortsSurface } from "./ports/e2b-ports-surface.ts";

const CONTROL = ["/sandboxes", "/v2", "/v3", "/templates", "/snapshots", "/volumes", "/secrets", "/teams"];
const ENVD = ["/files", "/process.Process", "/filesystem.Filesystem", "/envs", "/init"];
/** Older clients name no sandbox beside their token; these paths are REST's without one. */
const TOKEN_ALONE = ["x-access-token/health", "x-access-token/metrics"];
const INTERPRETER = ["/execute", "/contexts"];

/**
 * E2B's planes at the root of the one origin. What names a sandbox by host name or header goes to that sandbox, whichever its path. The names
 * are those below `localhost`, and those below the domain that is asked by TLS.
 */
export function e2bSurfaces(e2b: E2b, ports: Pick<PortRouterOptions, "isOwnName" | "isOwnToken" | "onFailure">): readonly Surface[] {
  const { domain } = e2b;
  const envd = createSandboxAdmission(e2b, findFilesHolder(e2b));
  const parts = createEnvdParts(envd);
  const interpreter = createSandboxAdmission(e2b, findCodeHolder(e2b));
  return [
    {
      kind: "routed",
      name: "e2b",
      reach: { prefixes: CONTROL, ...secureReach(domain, "api") },
      authentication: { opens: "e2b", localUser: "never", tokenOf: apiKeyOf },
      cors: "none",
      shapeError: controlErrors,
      statusOf: controlStatus,
      routes: controlRoutes(e2b),
    },
    uploadSurface(e2b),
    volumeContentSurface(e2b),
    {
      kind: "routed",
      name: "e2b-envd",
      reach: withHeaders(sandboxReach(e2b, ENVD_PORT, ENVD), TOKEN_ALONE),
      authentication: { opens: "e2b", localUser: "never", identify: envd.identify },
      cors: "any",
      shapeError: envdErrors,
      statusOf: planeStatus,
      routes: envdRoutes(e2b, parts),
      close: async () => parts.close(),
    },
    {
      kind: "routed",
      name: "e2b-interpreter",
      reach: sandboxReach(e2b, INTERPRETER_PORT, INTERPRETER),
      authentication: { opens: "e2b", localUser: "never", identify: interpreter.identify },
      cors: "any",
      shapeError: interpreterErrors,
      statusOf: planeStatus,
      routes: interpreterRoutes(e2b, interpreter),
    },
    e2bPortsSurface(e2b, ports),
  ];
}

/** What this server answers in the place of a program on that port of every sandbox. */
function sandboxReach({ domain }: E2b, port: number, prefixes: readonly string[]): Reach {
  const name = `${port}-*`;
  return { hosts: [`${name}.localhost`], headers: [`e2b-sandbox-port: ${port}`], prefixes, ...secureReach(domain, name) };
}

function withHeaders(reach: Reach, more: readonly string[]): Reach {
  return { ...reach, headers: [...(reach.headers ?? []), ...more] };
}

/** A bearer token is none here: clients of E2B send their key in a header of its own. */
function apiKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
