import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Principal, TokenSurface } from "../../sandbox/sandbox.ts";

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
  /** The surface that a token must open. Default: `belljar`. */
  readonly opens?: TokenSurface | undefined;
  /** Knows callers in the place of tokens; undefined for nobody. */
  readonly identify?: ((request: IncomingMessage) => Promise<Principal | undefined>) | undefined;
}

/** Who sent a request. Rejects with `UNAUTHORIZED`, the same for every reason, and with `FORBIDDEN` for a token of another surface. */
export type Authenticate = (request: IncomingMessage) => Promise<Principal>;

const ANYBODY: Principal = { ...LOCAL, isAnybody: true };

/** Longer ones are no tokens, and are not looked at. */
const TOKEN_MAX = 8_192;

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { verifiers, allowsLocal, tokenOf = bearerOf, opens = "belljar", identify } = options;
  return async (request) => {
    const token = identify ? undefined : tokenOf(request.headers);
    if (!identify && token === undefined && allowsLocal) return ANYBODY;
    const isToken = token !== undefined && token !== "" && token.length <= TOKEN_MAX;
    const principal = isToken ? await findHolder(verifiers, token) : await identify?.(request);
    if (principal) return assertOpens(principal, opens);
    throw new BelljarError("UNAUTHORIZED", `This server needs a valid token: ${ADVICE[opens]}`);
  };
}

const ADVICE: Readonly<Record<TokenSurface, string>> = {
  belljar: "send `Authorization: Bearer TOKEN`; `belljar token create NAME` makes one on the server's machine",
  e2b: "`belljar token create NAME --e2b` makes an API key on the server's machine",
};

/** A token that names no surface opens Belljar's own alone. Throws `FORBIDDEN`. */
function assertOpens(principal: Principal, surface: TokenSurface): Principal {
  if ((principal.grants?.surfaces ?? ["belljar"]).includes(surface)) return principal;
  throw new BelljarError("FORBIDDEN", `This token has no scope surface:${surface}: use one that may`);
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
