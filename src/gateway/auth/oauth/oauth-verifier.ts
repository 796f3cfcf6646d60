import { errors, jwtVerify } from "jose";
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyResult } from "jose";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { TokenVerifier } from "../authenticate.ts";
import { grantsOfScopes } from "./oauth-scopes.ts";
import type { SeenTokens } from "./seen-tokens.ts";

export interface OAuthVerifierOptions {
  readonly issuer: string;
  /** A token for anything else is none for this server. */
  readonly audience: string;
  readonly keys: JWTVerifyGetKey;
  readonly now?: () => Date;
  /** Is told of each token that is valid, and until when it is. */
  readonly seen?: Pick<SeenTokens, "note">;
}

/** Signatures with a public key alone: with a shared secret, a key that everybody may read would sign. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const CLOCK_SKEW_S = 30;
/** Nothing that is not seen, or that shows as something else; half a character is stored as any other half. */
const SUBJECT = /^[^\p{Cc}\p{Cf}\p{Cs}]{1,255}$/u;
const TYPE = /^(application\/)?(at\+)?jwt$/i;

/**
 * Access tokens (JWT) of one OAuth issuer. Rejects with `FORBIDDEN` a valid one without a scope for Belljar,
 * and with `SERVER_UNREACHABLE` when its keys cannot be fetched.
 */
export function createOAuthVerifier(options: OAuthVerifierOptions): TokenVerifier {
  return {
    async find(token) {
      if (token.split(".").length !== 3) return undefined;
      const verified = await verify(token, options);
      if (!verified || !TYPE.test(verified.protectedHeader.typ ?? "JWT")) return undefined;
      const { payload } = verified;
      const principal = toPrincipal(payload);
      if (principal && payload.exp !== undefined) options.seen?.note(principal, new Date((payload.exp + CLOCK_SKEW_S) * 1_000));
      return principal;
    },
  };
}

async function verify(token: string, { issuer, audience, keys, now }: OAuthVerifierOptions): Promise<JWTVerifyResult | undefined> {
  try {
    return await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_S,
      requiredClaims: ["sub", "exp"],
      ...(now && { currentDate: now() }),
    });
  } catch (cause) {
    if (cause instanceof BelljarError) throw cause;
    if (isRefusal(cause)) return undefined;
    throw new BelljarError(
      "SERVER_UNREACHABLE",
      "The OAuth issuer's keys cannot be used, so no token of it can be checked: try again later",
      {
        cause,
      },
    );
  }
}

/** The token's fault, and not that of the issuer's keys. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof errors.JOSEError && !(cause instanceof errors.JWKSTimeout || cause instanceof errors.JWKSInvalid);
}

/** Undefined for one that names nobody, and for one that is bound to a key, which a bearer does not prove to have. */
function toPrincipal({ sub, cnf, scope, scp }: JWTPayload): Principal | undefined {
  // The library does not look at its type.
  if (typeof sub !== "string" || !SUBJECT.test(sub) || cnf !== undefined) return undefined;
  const grants = readGrants([scope, scp].flatMap(toNames));
  return grants === "unknown" ? undefined : { id: `oauth:${sub}`, name: sub, grants };
}

/** Whatever an unknown scope was to narrow, its token must not have more than was meant. */
function readGrants(scopes: readonly string[]): NonNullable<Principal["grants"]> | "unknown" {
  try {
    const grants = grantsOfScopes(scopes);
    if (grants) return grants;
  } catch (cause) {
    if (cause instanceof BelljarError) return "unknown";
    throw cause;
  }
  throw new BelljarError("FORBIDDEN", "This access token has no scope for Belljar: ask the issuer for one with the scope belljar");
}

function toNames(claim: unknown): readonly string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((name): name is string => typeof name === "string") : [];
}
