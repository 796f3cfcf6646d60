import type { IncomingHttpHeaders } from "node:http";
import type { Surface } from "../surfaces/surface.ts";
import { createSandboxAdmission } from "./admit-sandbox.ts";
import { controlRoutes } from "./control/control-routes.ts";
import type { E2b } from "./e2b.ts";
import { ENVD_PORT, INTERPRETER_PORT } from "./e2b.ts";
import { controlErrors, controlStatus, planeStatus } from "./e2b-errors.ts";
import { envdErrors } from "./envd/envd-errors.ts";
import { envdRoutes } from "./envd/envd-routes.ts";
import { findFilesHolder } from "./envd/find-holder.ts";
import { findCodeHolder } from "./interpreter/find-holder.ts";
import { interpreterErrors } from "./interpreter/interpreter-errors.ts";
import { interpreterRoutes } from "./interpreter/interpreter-routes.ts";

const CONTROL = ["/sandboxes", "/v2", "/v3", "/templates", "/snapshots", "/volumes", "/secrets", "/teams"];
const ENVD = ["/files", "/process.Process", "/filesystem.Filesystem", "/envs", "/init"];
const INTERPRETER = ["/execute", "/contexts"];

/** E2B's three planes at the root of the one origin. What names a sandbox by header goes to that sandbox, whichever its path. */
export function e2bSurfaces(e2b: E2b): readonly Surface[] {
  const envd = createSandboxAdmission(e2b, findFilesHolder(e2b));
  const interpreter = createSandboxAdmission(e2b, findCodeHolder(e2b));
  return [
    {
      kind: "routed",
      name: "e2b",
      reach: { prefixes: CONTROL },
      authentication: { opens: "e2b", localUser: "never", tokenOf: apiKeyOf },
      cors: "none",
      shapeError: controlErrors,
      statusOf: controlStatus,
      routes: controlRoutes(e2b),
    },
    {
      kind: "routed",
      name: "e2b-envd",
      reach: { headers: [`e2b-sandbox-port: ${ENVD_PORT}`], prefixes: ENVD },
      authentication: { opens: "e2b", localUser: "never", identify: envd.identify },
      cors: "any",
      shapeError: envdErrors,
      statusOf: planeStatus,
      routes: envdRoutes(e2b, envd),
    },
    {
      kind: "routed",
      name: "e2b-interpreter",
      reach: { headers: [`e2b-sandbox-port: ${INTERPRETER_PORT}`], prefixes: INTERPRETER },
      authentication: { opens: "e2b", localUser: "never", identify: interpreter.identify },
      cors: "any",
      shapeError: interpreterErrors,
      statusOf: planeStatus,
      routes: interpreterRoutes(e2b, interpreter),
    },
  ];
}

/** A bearer token is none here: clients of E2B send their key in a header of its own. */
function apiKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
