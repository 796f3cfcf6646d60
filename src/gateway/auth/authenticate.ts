import type { IncomingHttpHeaders } from "node:http";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** Knows the holders of one kind of token; undefined for a token that is none of its own, or no more. */
export interface TokenVerifier {
  find(token: string): Promise<Principal | undefined>;
}

export interface AuthenticateOptions {
  /** Asked in turn. */
  readonly verifiers: readonly TokenVerifier[];
  /** Whether a caller without a token is the local user: on loopback, where only this machine reaches the port. */
  readonly allowsLocal: boolean;
  /** Undefined without a token, the empty text for one that cannot be read. Default: the bearer token. */
  readonly tokenOf?: (headers: IncomingHttpHeaders) => string | undefined;
}

/** Who sent a request. Rejects with `UNAUTHORIZED`, the same for every reason. */
export type Authenticate = (headers: IncomingHttpHeaders) => Promise<Principal>;

const ANYBODY: Principal = { ...LOCAL, isAnybody: true };

/** Longer ones are no tokens, and are not looked at. */
const TOKEN_MAX = 8_192;

export function createAuthenticate({ verifiers, allowsLocal, tokenOf = bearerOf }: AuthenticateOptions): Authenticate {
  return async (headers) => {
    const token = tokenOf(headers);
    if (token === undefined && allowsLocal) return ANYBODY;
    const isToken = token !== undefined && token !== "" && token.length <= TOKEN_MAX;
    const principal = isToken ? await findHolder(verifiers, token) : undefined;
    if (principal) return principal;
    const advice = "send `Authorization: Bearer TOKEN`; `belljar token create NAME` makes one on the server's machine";
    throw new BelljarError("UNAUTHORIZED", `This server needs a valid token: ${advice}`);
  };
}

export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  if (authorization === undefined) return undefined;
  const [, token = ""] = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization.slice(0, TOKEN_MAX)) ?? [];
  return token;
}

async function findHolder(verifiers: readonly TokenVerifier[], token: string): Promise<Principal | undefined> {
  for (const verifier of verifiers) {
    const principal = await verifier.find(token);
    if (principal) return principal;
  }
  return undefined;
}
