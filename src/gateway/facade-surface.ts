import { plainErrors } from "./error-answer.ts";
import type { FacadeRouteOptions } from "./routes/facade.ts";
import { facadeRoutes } from "./routes/facade.ts";
import type { RoutedSurface } from "./surfaces/surface.ts";

const ROOTS = ["/tools", "/credential", "/tool-server-url", "/custom-mcp", "/register-codex"];
/** Clients look for the same routes at the root and below MCP. */
const PREFIXES = ["", "/mcp"];

/** Tools over plain HTTP, for agents' backends that speak no MCP. */
export function facadeSurface(options: FacadeRouteOptions): RoutedSurface {
  return {
    kind: "routed",
    name: "facade",
    reach: { prefixes: PREFIXES.flatMap((prefix) => ROOTS.map((root) => prefix + root)) },
    authentication: { localUser: "loopback" },
    cors: "none",
    shapeError: plainErrors,
    routes: PREFIXES.flatMap((prefix) => facadeRoutes(options, prefix)),
  };
}
