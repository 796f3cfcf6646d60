import { decodeJwt, errors } from "jose";
import { BelljarError } from "../../../errors.ts";
import type { TokenVerifier } from "../authenticate.ts";
import { assertPrivate, createIssuerKeys } from "./issuer-keys.ts";
import { OFFERED_SCOPES } from "./oauth-scopes.ts";
import { createOAuthVerifier, type OAuthVerifierOptions } from "./oauth-verifier.ts";

/** This server, as OAuth calls it: whoever holds an access token that the issuer made for it is served. */
export interface ProtectedResource {
  readonly verifier: TokenVerifier;
  /** Whether a token says that it is of this issuer, good or not: it is for nobody else to see. */
  isOurs(token: string): boolean;
  /** The document of RFC 9728, from which a client learns where to get a token. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The address of that document. */
  readonly metadataUrl: string;
}

export interface ProtectedResourceOptions extends Pick<OAuthVerifierOptions, "now" | "seen"> {
  readonly issuer: string;
  readonly audience: string;
  readonly resource?: string;
  readonly jwksUri?: string;
  readonly keysCooldownMs?: number;
}

const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** Asks nobody yet. Throws `CONFIG_INVALID`. */
export function openProtectedResource(options: ProtectedResourceOptions): ProtectedResource {
  const { issuer, audience, jwksUri, keysCooldownMs: cooldownMs, now, seen } = options;
  const resource = readResource(options.resource ?? audience);
  const keys = createIssuerKeys({
    issuer: assertPrivate(new URL(issuer)),
    ...(jwksUri !== undefined && { jwksUri: assertPrivate(new URL(jwksUri)) }),
    ...(cooldownMs !== undefined && { cooldownMs }),
  });
  return {
    verifier: createOAuthVerifier({ issuer, audience, keys, ...(now && { now }), ...(seen && { seen }) }),
    isOurs: (token) => issuerOf(token) === issuer,
    metadata: {
      resource: options.resource ?? audience,
      authorization_servers: [issuer],
      scopes_supported: OFFERED_SCOPES,
      bearer_methods_supported: ["header"],
      resource_name: "Belljar",
    },
    metadataUrl: new URL(METADATA_PATH + resource.pathname.replace(/\/$/, ""), resource).href,
  };
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function readResource(text: string): URL {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text);
  throw new BelljarError(
    "CONFIG_INVALID",
    "oauth.audience is no web address: set oauth.resource to the address of /mcp as clients know it, as https://belljar.example.com/mcp",
  );
}
