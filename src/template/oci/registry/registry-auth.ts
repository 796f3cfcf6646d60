import { getDomain } from "tldts";
import { z } from "zod";
import { BelljarError } from "../../../errors.ts";
import type { EgressClient } from "../../../network/egress/egress-client.ts";
import { readAtMost } from "../digest.ts";
import { shown } from "../image-error.ts";
import { parseBy } from "../manifest.ts";
import type { Challenge } from "./challenge.ts";

export interface RegistryCredential {
  readonly user: string;
  readonly password: string;
}

export interface TokenRequest {
  readonly egress: EgressClient;
  /** Where the registry answers. */
  readonly endpoint: URL;
  readonly repository: string;
  readonly credential: RegistryCredential | undefined;
}

const TOKEN_MAX_BYTES = 65_536;
const Token = z.string().regex(/^[!-~]+$/, "is no token");
const TokenSchema = z.object({ token: Token.nullish(), access_token: Token.nullish() });

/** Returns the header `Authorization` that a registry asks for. Rejects with `REGISTRY_DENIED` if there is none. */
export async function authorize(challenge: Challenge | undefined, request: TokenRequest, signal: AbortSignal): Promise<string> {
  const { credential, endpoint } = request;
  if (challenge?.kind === "bearer") return `Bearer ${await getToken(challenge, request, signal)}`;
  if (challenge?.kind === "basic" && credential) return basic(credential);
  throw new BelljarError(
    "REGISTRY_DENIED",
    challenge ? `${endpoint.host} needs a user and a password` : `${endpoint.host} asks for something else than a password or a token`,
  );
}

/** Asks for the right to read this repository and nothing else, whatever scope the registry names. */
async function getToken(
  { realm, service }: Extract<Challenge, { readonly kind: "bearer" }>,
  { egress, endpoint, repository, credential }: TokenRequest,
  signal: AbortSignal,
): Promise<string> {
  const url = toRealm(realm, endpoint);
  if (credential && !mayHavePassword(url, endpoint))
    throw new BelljarError(
      "REGISTRY_DENIED",
      `${endpoint.host} asks for its password at ${shown(url.host)}, which is not of the same domain. Belljar sends it nowhere else: name the registry by a host of that domain`,
    );
  if (service !== undefined) url.searchParams.set("service", service);
  url.searchParams.set("scope", `repository:${repository}:pull`);
  using answer = await egress.get({ url, headers: credential ? { authorization: basic(credential) } : {} }, signal);
  if (answer.status !== 200) throw refused(answer.status, url, credential);
  const body = await readAtMost(answer.body, TOKEN_MAX_BYTES, "the answer with a token");
  const { token, access_token: other } = parseBy(TokenSchema, body, "the answer with a token");
  const found = token ?? other;
  if (found === undefined || found === null) throw new BelljarError("REGISTRY_DENIED", `${shown(url.host)} answered without a token`);
  return found;
}

function toRealm(realm: string, endpoint: URL): URL {
  const url = URL.canParse(realm) ? new URL(realm) : undefined;
  if (url && (url.protocol === "https:" || url.origin === endpoint.origin)) return url;
  throw new BelljarError("REGISTRY_DENIED", `${endpoint.host} asks for a token at "${shown(realm)}", which is no https URL`);
}

/**
 * The registry's own origin, and https at a name of the same registered domain: Docker Hub's is `auth.docker.io`, GitLab's `gitlab.com`.
 * Other clients send the password wherever the registry says, so that whoever answers for it once has the password.
 */
function mayHavePassword(realm: URL, endpoint: URL): boolean {
  if (realm.origin === endpoint.origin) return true;
  const domain = getDomain(endpoint.hostname, { allowPrivateDomains: true });
  const isSameDomain = domain !== null && getDomain(realm.hostname, { allowPrivateDomains: true }) === domain;
  return isSameDomain && endpoint.protocol === "https:" && realm.protocol === "https:" && ["", endpoint.port].includes(realm.port);
}

function refused(status: number, url: URL, credential: RegistryCredential | undefined): BelljarError {
  if (status === 401 || status === 403)
    return new BelljarError(
      "REGISTRY_DENIED",
      credential
        ? `${shown(url.host)} does not take the password of ${shown(credential.user)}: check both`
        : `${shown(url.host)} gives no token without a user and a password`,
    );
  // A redirect leads elsewhere, and so would the password.
  return new BelljarError("NETWORK_FAILED", `${shown(url.host)} answered the request for a token with the status ${status}`);
}

function basic({ user, password }: RegistryCredential): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}
