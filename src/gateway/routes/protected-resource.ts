import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { OPEN } from "../auth/access.ts";
import type { ProtectedResource } from "../auth/oauth/protected-resource.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** Open to everybody: who has no token yet reads here where to get one. */
const METADATA_ROUTES = {
  "/.well-known/oauth-protected-resource": "RFC 9728: which issuer's tokens are taken, and with which scopes. 404 without an issuer",
  "/.well-known/oauth-protected-resource/mcp": "The same",
};

/** RFC 9728, at the two places where clients look. */
export function protectedResourceRoutes(oauth: ProtectedResource | undefined): readonly Route[] {
  return Object.entries(METADATA_ROUTES).map(([path, summary]) =>
    defineRoute({
      method: "GET",
      path,
      access: OPEN,
      summary,
      answers: { 200: z.looseObject({ resource: z.string(), authorization_servers: z.array(z.string()) }) },
      async handle() {
        if (oauth) return oauth.metadata;
        throw new BelljarError("ROUTE_NOT_FOUND", "This server takes no tokens of an OAuth issuer; belljar token create makes its own");
      },
    }),
  );
}
