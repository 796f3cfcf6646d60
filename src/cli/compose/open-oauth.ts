import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import type { ProtectedResource } from "../../gateway/auth/oauth/protected-resource.ts";
import type { SeenTokens } from "../../gateway/auth/oauth/seen-tokens.ts";

/** Opens the OAuth issuer of the configuration. Resolves with undefined if there is none. Rejects with `CONFIG_INVALID`. */
export async function openOAuth({ oauth }: Pick<Config, "oauth">, seen: SeenTokens): Promise<ProtectedResource | undefined> {
  const { issuer, audience, resource, jwksUri } = oauth;
  if (issuer === undefined && audience === undefined && resource === undefined && jwksUri === undefined) return undefined;
  if (issuer === undefined || audience === undefined)
    throw new BelljarError("CONFIG_INVALID", "OAuth needs both oauth.issuer and oauth.audience: set the other one too, or neither");
  const { openProtectedResource } = await import("../../gateway/auth/oauth/protected-resource.ts");
  return openProtectedResource({
    issuer,
    audience,
    seen,
    ...(resource !== undefined && { resource }),
    ...(jwksUri !== undefined && { jwksUri }),
  });
}
