import type { AuthorizationServerMetadata, FetchLike, OAuthProtectedResourceMetadata } from "@modelcontextprotocol/client";
import {
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  resourceUrlFromServerUrl,
} from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { toLoginError } from "./oauth-failure.ts";

/** What a server says when it refuses a request. All of it is the server's word. */
export interface Challenge {
  readonly metadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
  /** True if the token was good, and its scopes were too few. */
  readonly wantsScope: boolean;
}

/** Where a person logs in, and for what. */
export interface LoginPlace {
  readonly issuer: string;
  readonly authorizationServer: string;
  /** Absent for a server of the revision 2025-03-26, whose origin has its endpoints. */
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** The resource that the tokens are asked for. */
  readonly resource: string;
  readonly scopesSupported: string | undefined;
}

const METADATA_MAX_CHARACTERS = 65_536;

export function readChallenge(response: Response): Challenge {
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
  return { metadataUrl: resourceMetadataUrl, scope, wantsScope: response.status === 403 && error === "insufficient_scope" };
}

/**
 * Finds the authorization server that an MCP server names, and checks that its metadata are its own. Rejects with `SERVER_INCOMPATIBLE` or
 * `SERVER_UNREACHABLE`.
 */
export async function findLoginPlace(
  { name, url }: { readonly name: string; readonly url: URL },
  challenge: Challenge | undefined,
  fetchFn: FetchLike,
): Promise<LoginPlace> {
  const server = resourceUrlFromServerUrl(url);
  const resource = await findResource(name, server, challenge?.metadataUrl, fetchFn);
  const authorizationServer = resource?.authorization_servers?.[0] ?? String(new URL("/", server));
  const metadata = await findMetadata(name, authorizationServer, fetchFn);
  // Servers of the revision 2025-03-26 name no authorization server, and need not describe theirs.
  if (!metadata && resource?.authorization_servers?.[0] !== undefined)
    throw new BelljarError("SERVER_INCOMPATIBLE", `The login of "${name}": its authorization server has no metadata`);
  return {
    issuer: metadata?.issuer ?? authorizationServer,
    authorizationServer,
    metadata,
    resource: resource?.resource ?? server.href,
    scopesSupported: resource?.scopes_supported?.join(" "),
  };
}

async function findResource(
  name: string,
  server: URL,
  named: URL | undefined,
  fetchFn: FetchLike,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  let found: OAuthProtectedResourceMetadata;
  try {
    found = await discoverOAuthProtectedResourceMetadata(server, named ? { resourceMetadataUrl: named } : {}, fetchFn);
  } catch (cause) {
    // The SDK has no error of its own for a server that has none.
    if (cause instanceof BelljarError || named) throw toLoginError(name, "for its metadata", cause);
    return undefined;
  }
  // Else one server could have a token made for another.
  if (checkResourceAllowed({ requestedResource: server, configuredResource: found.resource })) return found;
  throw new BelljarError("SERVER_INCOMPATIBLE", `The login of "${name}": its metadata are of another resource than ${server.origin}`);
}

async function findMetadata(
  name: string,
  authorizationServer: string,
  fetchFn: FetchLike,
): Promise<AuthorizationServerMetadata | undefined> {
  const incompatible = (why: string): BelljarError =>
    new BelljarError("SERVER_INCOMPATIBLE", `The login of "${name}": its authorization server ${why}`);
  const metadata = await discoverAuthorizationServerMetadata(authorizationServer, { fetchFn }).catch((cause: unknown) => {
    throw toLoginError(name, "for its metadata", cause);
  });
  if (!metadata) return undefined;
  if (JSON.stringify(metadata).length > METADATA_MAX_CHARACTERS) throw incompatible("has metadata that are too large");
  // As the specification wants it: without this a code that somebody else reads could be used.
  if (!metadata.code_challenge_methods_supported?.includes("S256")) throw incompatible("does not say that it knows PKCE (S256)");
  if (!metadata.response_types_supported.includes("code")) throw incompatible("gives no codes");
  return metadata;
}
