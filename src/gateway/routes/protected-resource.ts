import type { ProtectedResource } from "../auth/oauth/protected-resource.ts";
import { OPEN } from "../auth/access.ts";
import { BelljarError } from "../../errors.ts";
import type { RouteGroup } from "./routes.ts";

/** Open to everybody: who has no token yet reads here where to get one. */
const METADATA_ROUTES = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] as const;

/** RFC 9728, at the two places where clients look. */
export function protectedResourceRoutes(oauth: ProtectedResource | undefined): RouteGroup {
  return (routes) => {
    for (const path of METADATA_ROUTES) {
      routes.get(path, OPEN, async () => {
        if (oauth) return oauth.metadata;
        throw new BelljarError("ROUTE_NOT_FOUND", "This server takes no tokens of an OAuth issuer; belljar token create makes its own");
      });
    }
  };
}
