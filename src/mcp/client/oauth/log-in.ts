import { randomBytes } from "node:crypto";
import type { FetchLike, OAuthTokens } from "@modelcontextprotocol/client";
import {
  computeScopeUnion,
  exchangeAuthorization,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { printable } from "../../../files/printable.ts";
import type { OAuthSettings } from "./auth-settings.ts";
import { findClient, toClientInformation } from "./login-client.ts";
import type { LoginDoor, LoginReturn, OpenLoginDoor } from "./login-door.ts";
import { isSameState } from "./login-door.ts";
import type { LoginPlace } from "./login-place.ts";
import type { Login, LoginClient, LoginRecord, LoginTokens } from "./login-record.ts";
import { parseTokens } from "./login-record.ts";
import { toLoginError } from "./oauth-failure.ts";
import { isLoopbackUrl } from "./reach.ts";

/** A person may have to find a password first. */
const PERSON_MS = 10 * 60_000;
const SAID_MAX = 300;

export interface LogInOptions {
  readonly server: string;
  readonly settings: OAuthSettings;
  readonly place: LoginPlace;
  readonly record: LoginRecord;
  /** Beyond those that the entry and the server name. */
  readonly scope: string | undefined;
  readonly openDoor: OpenLoginDoor;
  readonly fetchFn: FetchLike;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Logs a person in, with a code and PKCE. The code is sent only to the issuer that the person was sent to, and only if the redirect has
 * the state of this login. Rejects with `UNAUTHORIZED` if the person or the authorization server refuses.
 */
export async function logIn(options: LogInOptions): Promise<Login> {
  const { server, settings, place, record, fetchFn } = options;
  const known = Object.hasOwn(record.logins, place.issuer) ? record.logins[place.issuer] : undefined;
  const scope = scopeOf(options);
  await using door = await options.openDoor({ server, redirectUrl: known?.client.redirect_uri, port: settings.callbackPort });
  const { redirectUrl } = door;
  const client = await findClient({ server, settings, place, redirectUrl, scope, known: known?.client }, fetchFn);
  const { code, iss, codeVerifier } = await askPerson(options, { door, client, scope });
  const information = toClientInformation(client, settings);
  const secrets = [code, codeVerifier, information.client_secret];
  const answer = await exchangeAuthorization(place.authorizationServer, {
    ...(place.metadata && { metadata: place.metadata }),
    clientInformation: information,
    authorizationCode: code,
    ...(iss !== undefined && { iss }),
    codeVerifier,
    redirectUri: redirectUrl,
    resource: place.resource,
    fetchFn,
  }).catch((cause: unknown) => {
    throw toLoginError(server, "the code", cause, secrets);
  });
  return toLogin(place, client, toTokens(server, answer, scope));
}

export function toLogin({ authorizationServer, metadata, resource }: LoginPlace, client: LoginClient, tokens: LoginTokens): Login {
  return { client, tokens, resource, authorizationServer, ...(metadata && { metadata: { ...metadata } }) };
}

/** Throws `SERVER_INCOMPATIBLE` for tokens that cannot be sent. `scope` is what was asked for, which is granted where nothing else is said. */
export function toTokens(server: string, answer: OAuthTokens, scope: string | undefined): LoginTokens {
  const { access_token, refresh_token, token_type: type, expires_in: seconds } = answer;
  const granted = answer.scope ?? scope;
  const lives = typeof seconds === "number" && seconds > 0 && seconds < LIFE_MAX_S;
  const tokens = parseTokens({
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(granted !== undefined && { scope: granted }),
    ...(lives && { expires_at: Date.now() + seconds * 1000 }),
  });
  if (tokens && type.toLowerCase() === "bearer") return tokens;
  throw new BelljarError("SERVER_INCOMPATIBLE", `The login of "${server}": the authorization server gave a token that cannot be sent`);
}

const LIFE_MAX_S = 10 * 365 * 24 * 3600;

/** What is asked for. A scope for refresh tokens is added where the authorization server has one. */
function scopeOf({ settings, place, scope: wanted }: LogInOptions): string | undefined {
  const asked = computeScopeUnion(settings.scope, wanted) ?? place.scopesSupported;
  const hasOffline = place.metadata?.scopes_supported?.includes("offline_access") === true;
  return asked !== undefined && asked !== "" && hasOffline ? computeScopeUnion(asked, "offline_access") : asked || undefined;
}

interface Asked {
  readonly door: LoginDoor;
  readonly client: LoginClient;
  readonly scope: string | undefined;
}

interface Code {
  readonly code: string;
  readonly iss: string | undefined;
  readonly codeVerifier: string;
}

async function askPerson({ server, settings, place, signal }: LogInOptions, { door, client, scope }: Asked): Promise<Code> {
  const state = randomBytes(32).toString("base64url");
  const { authorizationUrl, codeVerifier } = await startAuthorization(place.authorizationServer, {
    ...(place.metadata && { metadata: place.metadata }),
    clientInformation: toClientInformation(client, settings),
    redirectUrl: door.redirectUrl,
    state,
    resource: place.resource,
    ...(scope !== undefined && { scope }),
  }).catch((cause: unknown) => {
    throw toLoginError(server, "the login", cause);
  });
  // A browser would run other addresses, or show them to others.
  if (authorizationUrl.protocol !== "https:" && !(authorizationUrl.protocol === "http:" && isLoopbackUrl(authorizationUrl)))
    throw new BelljarError("SERVER_INCOMPATIBLE", `The login of "${server}" wants a browser to open ${printable(authorizationUrl.origin)}`);
  const limit = AbortSignal.timeout(PERSON_MS);
  const back = await door.authorize(authorizationUrl, signal ? AbortSignal.any([signal, limit]) : limit).catch((cause: unknown) => {
    if (limit.aborted) throw new BelljarError("UNAUTHORIZED", `The login of "${server}" was given up after ${PERSON_MS / 60_000} minutes`);
    throw cause;
  });
  return { ...readReturn(server, place, { back, state }), codeVerifier };
}

/** Nothing of a redirect is believed, or shown, before its state and its issuer are those of this login. */
function readReturn(
  server: string,
  { metadata }: LoginPlace,
  { back, state }: { readonly back: LoginReturn; readonly state: string },
): Omit<Code, "codeVerifier"> {
  const query = back.kind === "redirect" ? back.query : new URLSearchParams({ code: back.code });
  const refuse = (why: string): BelljarError => new BelljarError("UNAUTHORIZED", `The login of "${server}": ${why}`);
  if (back.kind === "redirect" && !isSameState(query.get("state"), state))
    throw refuse("the browser came back from another login: try again");
  const iss = query.get("iss") ?? undefined;
  const issParameterSupported = metadata?.authorization_response_iss_parameter_supported === true;
  if (back.kind === "code" && issParameterSupported) throw refuse("a code alone does not say who gave it: paste the whole address");
  try {
    validateAuthorizationResponseIssuer({ iss, expectedIssuer: metadata?.issuer, issParameterSupported });
  } catch (cause) {
    throw toLoginError(server, "the login", cause);
  }
  const error = query.get("error");
  if (error !== null) {
    const about = query.get("error_description");
    throw refuse(`it was refused: ${printable(`${error}${about === null ? "" : `: ${about}`}`.slice(0, SAID_MAX))}`);
  }
  const code = query.get("code");
  if (code === null || code === "" || code.length > 8192) throw refuse("the browser came back without a code: try again");
  return { code, iss };
}
