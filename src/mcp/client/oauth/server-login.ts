import type { AuthorizationServerMetadata, FetchLike } from "@modelcontextprotocol/client";
import { computeScopeUnion, isStrictScopeSuperset, OAuthError, refreshAuthorization } from "@modelcontextprotocol/client";
import { ShareByKey } from "../../../async/share-by-key.ts";
import { BelljarError } from "../../../errors.ts";
import type { HttpWay } from "../transport/http-way.ts";
import { createAuthFetch } from "./auth-fetch.ts";
import type { OAuthSettings } from "./auth-settings.ts";
import { logIn, toTokens } from "./log-in.ts";
import { toClientInformation } from "./login-client.ts";
import type { OpenLoginDoor } from "./login-door.ts";
import type { Challenge, LoginPlace } from "./login-place.ts";
import { findLoginPlace } from "./login-place.ts";
import type { Login, LoginRecord, LoginTokens } from "./login-record.ts";
import { currentLogin, withLogin } from "./login-record.ts";
import { LoginStore, type StoreEars } from "./login-store.ts";
import { revoke } from "./revoke.ts";
import { toLoginError } from "./oauth-failure.ts";
import { isLoopbackUrl, reachOfHost } from "./reach.ts";

/** Whose logins are used, and how a person is told to log in. */
export interface LoginOptions {
  /** A private folder, of one person. */
  readonly folder: string;
  /** What a person does to log in to this server, as in "run `belljar client login NAME`". */
  readonly advice: (server: string) => string;
  /** How the requests of a login leave this machine now. Absent, and where it gives none: each one may. */
  readonly way?: (() => Promise<HttpWay | undefined>) | undefined;
}

export interface LoginServer {
  readonly name: string;
  readonly url: URL;
}

/** Why a request was not answered: only a person can change that. It is the `cause` of the error. */
export class LoginWanted extends Error {
  readonly challenge: Challenge;
  /** The token that was refused. */
  readonly used: string | undefined;
  constructor(challenge: Challenge, used: string | undefined) {
    super("A person must log in");
    this.challenge = challenge;
    // A log of an error shows its fields.
    Object.defineProperty(this, "used", { value: used, enumerable: false });
  }
}

/** Tokens are renewed so long before their time. */
const EARLY_MS = 30_000;
/** Servers that say each time that a scope is missing. */
const STEPS_MAX = 3;

/**
 * The login of a person at one MCP server: gives the token of each request, renews it, and lets the person log in. Tokens go to this
 * server's origin alone, and refresh tokens to the issuer that gave them.
 */
export class ServerLogin {
  readonly #server: LoginServer;
  readonly #settings: OAuthSettings;
  readonly #options: LoginOptions;
  readonly #store: LoginStore;
  readonly #persons = new ShareByKey<void>();
  readonly #renewals = new ShareByKey<LoginTokens | undefined>();
  #tokens: LoginTokens | undefined;
  #isRead = false;
  #steps = 0;

  constructor(server: LoginServer, settings: OAuthSettings, options: LoginOptions) {
    this.#server = server;
    this.#settings = settings;
    this.#options = options;
    this.#store = new LoginStore(options.folder);
  }

  /** Whether a request may have the token. */
  covers(url: URL): boolean {
    return url.origin === this.#server.url.origin;
  }

  /** The token to send, if the person has logged in. One whose time is nearly over is renewed first. */
  async token(): Promise<string | undefined> {
    if (!this.#isRead) await this.#read();
    const { expires_at: end, refresh_token: refresh, access_token: token } = this.#tokens ?? {};
    if (token === undefined || end === undefined || refresh === undefined || end - EARLY_MS > Date.now()) return token;
    try {
      return (await this.#renew(token))?.access_token;
    } catch (cause) {
      // It may still be good for this request.
      if (end > Date.now() && cause instanceof BelljarError && cause.retryable) return token;
      throw cause;
    }
  }

  /**
   * Gives another token for a request that was refused with `used`. Rejects with `UNAUTHORIZED` or `FORBIDDEN`, whose cause is a
   * `LoginWanted`, if only a person can get one.
   */
  async again(challenge: Challenge, used: string | undefined): Promise<string> {
    await this.#read();
    const { access_token: other } = this.#tokens ?? {};
    if (other !== undefined && other !== used) return other;
    if (!challenge.wantsScope && this.#tokens?.refresh_token !== undefined) {
      const renewed = await this.#renew(used, challenge);
      if (renewed && renewed.access_token !== used) return renewed.access_token;
    }
    throw this.#wanted(challenge, used);
  }

  /**
   * Has a person log in, once for all requests that wait for it. Rejects as `logIn`, and with `FORBIDDEN` if the server goes on asking for
   * more.
   */
  async byPerson(wanted: LoginWanted | undefined, openDoor: OpenLoginDoor, wish: PersonWish = {}): Promise<void> {
    return this.#persons.run("", async () => {
      await this.#read();
      // Meanwhile another request, or another process, has had it.
      if (wanted && this.#tokens && this.#tokens.access_token !== wanted.used) return;
      if (wanted?.challenge.wantsScope) this.#countStep(wanted.challenge);
      await this.logIn(wanted?.challenge, openDoor, wish);
    });
  }

  /** Has a person log in, whether a login is there or not. */
  async logIn(challenge: Challenge | undefined, openDoor: OpenLoginDoor, wish: PersonWish = {}): Promise<{ readonly issuer: string }> {
    const { name: server, url } = this.#server;
    const fetchFn = await this.#authFetch(wish.signal);
    const place = await findLoginPlace(this.#server, challenge, fetchFn);
    const record = await this.#store.read(url);
    const granted = challenge?.wantsScope ? currentLogin(record)?.tokens?.scope : undefined;
    const scope = computeScopeUnion(granted, challenge?.scope, wish.scope);
    const login = await logIn({ ...wish, server, settings: this.#settings, place, record, scope, openDoor, fetchFn });
    await this.#store.change(url, (now) => withLogin(now, place.issuer, login));
    this.#tokens = login.tokens;
    this.#isRead = true;
    return { issuer: place.issuer };
  }

  /** Forgets the login, and tells the authorization server of its end where it wants to know. */
  async logOut(signal?: AbortSignal): Promise<{ readonly isKnown: boolean; readonly isRevoked: boolean }> {
    const { url } = this.#server;
    const login = currentLogin(await this.#store.read(url));
    await this.#store.remove(url);
    this.#tokens = undefined;
    const isRevoked = login?.tokens !== undefined && (await revoke(login, this.#settings, () => this.#authFetch(signal)));
    return { isKnown: login !== undefined, isRevoked };
  }

  /** The next request looks again what is known of the login. */
  reread(): void {
    this.#isRead = false;
  }

  /**
   * Takes up what other processes do with the login, until it is closed. `changed` is called for each token that was not known here. Rejects with
   * `FILE_IO`.
   */
  async watch({ changed, failed }: StoreEars): Promise<{ close(): void }> {
    const take = async (): Promise<void> => {
      const before = this.#tokens?.access_token;
      await this.#read();
      const { access_token: now } = this.#tokens ?? {};
      if (now !== undefined && now !== before) changed();
    };
    return this.#store.watch(this.#server.url, { changed: () => void take().catch(failed), failed });
  }

  #countStep({ scope }: Challenge): void {
    const isMore = isStrictScopeSuperset(scope, this.#tokens?.scope);
    this.#steps += 1;
    if (isMore && this.#steps <= STEPS_MAX) return;
    throw new BelljarError(
      "FORBIDDEN",
      `The server "${this.#server.name}" goes on asking for a scope that the login has: ask its operator`,
    );
  }

  #wanted(challenge: Challenge, used: string | undefined): BelljarError {
    const { name } = this.#server;
    const cause = new LoginWanted(challenge, used);
    const advice = this.#options.advice(name);
    if (challenge.wantsScope)
      return new BelljarError("FORBIDDEN", `The server "${name}" wants more than the login has: ${advice}`, { cause });
    return new BelljarError("UNAUTHORIZED", `The server "${name}" wants a login, or a token under headers: ${advice}`, { cause });
  }

  async #read(): Promise<LoginRecord> {
    const record = await this.#store.read(this.#server.url);
    this.#tokens = currentLogin(record)?.tokens;
    this.#isRead = true;
    return record;
  }

  /** Undefined if the login is over. After a refusal the server is asked first who its issuer is now. */
  async #renew(used: string | undefined, challenge?: Challenge): Promise<LoginTokens | undefined> {
    return this.#renewals.run("", async () => {
      const fetchFn = await this.#authFetch();
      const place = challenge && (await findLoginPlace(this.#server, challenge, fetchFn));
      return this.#store.renew(this.#server.url, async () => {
        const record = await this.#read();
        const login = currentLogin(record);
        if (!login?.tokens || login.tokens.access_token !== used) return login?.tokens;
        if (place && place.issuer !== record.issuer) return undefined;
        return this.#refresh(record, login, { place, fetchFn });
      });
    });
  }

  async #refresh(
    record: LoginRecord,
    login: Login,
    { place, fetchFn }: { readonly place: LoginPlace | undefined; readonly fetchFn: FetchLike },
  ): Promise<LoginTokens | undefined> {
    const { refresh_token: refreshToken = "", scope } = login.tokens ?? {};
    const metadata = place?.metadata ?? (login.metadata as AuthorizationServerMetadata | undefined);
    const information = toClientInformation(login.client, this.#settings);
    let tokens: LoginTokens | undefined;
    try {
      const answer = await refreshAuthorization(login.authorizationServer, {
        ...(metadata && { metadata }),
        clientInformation: information,
        refreshToken,
        resource: login.resource,
        fetchFn,
      });
      tokens = toTokens(this.#server.name, answer, scope);
    } catch (cause) {
      if (!isOver(cause)) throw toLoginError(this.#server.name, "the renewal", cause, [refreshToken, information.client_secret]);
    }
    return this.#keep(record, login, tokens);
  }

  /** Gives what is known then. A login that ended meanwhile, or was replaced, is not brought back by its renewal. */
  async #keep({ issuer = "" }: LoginRecord, login: Login, tokens: LoginTokens | undefined): Promise<LoginTokens | undefined> {
    await this.#store.change(this.#server.url, (now) => {
      const isSame = now.issuer === issuer && currentLogin(now)?.tokens?.access_token === login.tokens?.access_token;
      if (!isSame) return now;
      // Whoever watches the store must not take these for another process's.
      this.#tokens = tokens;
      return withLogin(now, issuer, tokens ? { ...login, tokens } : withoutTokens(login));
    });
    await this.#read();
    return this.#tokens;
  }

  async #authFetch(signal?: AbortSignal): Promise<FetchLike> {
    const { name: server, url } = this.#server;
    if (url.protocol !== "https:" && !isLoopbackUrl(url))
      throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${server}" has no TLS, so nobody logs in to it: use its https: address`);
    const reach = await reachOfHost(url).catch((cause: unknown) => {
      throw new BelljarError("SERVER_UNREACHABLE", `The server "${server}" cannot be reached: its name is not known`, { cause });
    });
    return createAuthFetch({ server, reach, signal, way: await this.#options.way?.() });
  }
}

export interface PersonWish {
  /** More scopes than the server asks for. */
  readonly scope?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

function withoutTokens({ tokens: _tokens, ...login }: Login): Login {
  return login;
}

/** The authorization server knows the refresh token, or the client, no more. */
function isOver(cause: unknown): boolean {
  return cause instanceof OAuthError && ["invalid_grant", "invalid_client", "unauthorized_client"].includes(cause.code);
}

/** What a person must give, if that is why a request failed. */
export function loginWanted(error: unknown): LoginWanted | undefined {
  const cause = error instanceof BelljarError ? error.cause : undefined;
  return cause instanceof LoginWanted ? cause : undefined;
}
