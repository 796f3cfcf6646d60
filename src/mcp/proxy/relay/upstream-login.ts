import { BelljarError } from "../../../errors.ts";
import type { HttpTarget } from "../../client/config/resolve-server.ts";
import { askForChallenge } from "../../client/oauth/ask-for-challenge.ts";
import { type LoginOptions, loginWanted, ServerLogin } from "../../client/oauth/server-login.ts";
import type { HubServer } from "../hub-server.ts";
import { assertRedirect, type BegunLogin, HeldLogin } from "./held-login.ts";

/** Where an owner's login at a server is kept, and how a person is told to log in. No two owners have one folder. */
export type HubLogins = (owner: string, server: HubServer) => LoginOptions;

export interface UpstreamLoginEars {
  /** Called after another process has changed the login to one that may count. */
  readonly loggedIn: () => void;
  readonly report: (problem: string) => void;
}

/** How somebody begins a login. */
export interface LoginWish {
  /** Where the browser comes back to. */
  readonly redirectUri?: string | undefined;
  /** More scopes than the server asks for. */
  readonly scope?: string | undefined;
}

/** The login that all instances of a server share. Disposing it ends its watch for logins that other processes make. */
export class UpstreamLogin implements AsyncDisposable {
  readonly login: ServerLogin;
  readonly #target: HttpTarget;
  readonly #way: LoginOptions["way"];
  readonly #watching: Promise<{ close(): void } | undefined>;
  #held: HeldLogin | undefined;

  private constructor(target: HttpTarget, login: ServerLogin, way: LoginOptions["way"], { loggedIn, report }: UpstreamLoginEars) {
    this.login = login;
    this.#target = target;
    this.#way = way;
    const failed = (cause: unknown): void => report(`Logins that other processes make are not noticed: ${String(cause)}`);
    this.#watching = login.watch({ changed: loggedIn, failed }).catch((cause: unknown) => {
      failed(cause);
      return undefined;
    });
  }

  /** Undefined for a program, and for a server whose headers say who calls. */
  static of({ name, target }: HubServer, options: LoginOptions | undefined, ears: UpstreamLoginEars): UpstreamLogin | undefined {
    if (!options || target.kind === "stdio" || !target.oauth) return undefined;
    return new UpstreamLogin(target, new ServerLogin({ name, url: target.url }, target.oauth, options), options.way, ears);
  }

  /**
   * Begins a login that `finish` ends, in the place of one that waits already. Rejects with `ARGUMENTS_INVALID` for a redirect that is not allowed,
   * and as `ServerLogin.logIn`.
   */
  async begin({ redirectUri, scope }: LoginWish, signal: AbortSignal): Promise<BegunLogin> {
    if (redirectUri !== undefined) assertRedirect(redirectUri);
    this.#held?.[Symbol.dispose]();
    const held = new HeldLogin(async (openDoor, until) => {
      const challenge = await askForChallenge(this.#target, await this.#way?.());
      await this.login.logIn(challenge, openDoor, { scope, signal: until });
    }, redirectUri);
    this.#held = held;
    const giveUp = (): void => held[Symbol.dispose]();
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await held.begun;
    } catch (cause) {
      throw toRefusal(cause);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /**
   * Ends the login that waits, with the query of the address that the browser came back to. Rejects with `LOGIN_NOT_FOUND` if none waits with its
   * state, and with `SERVER_REFUSED` if the authorization server refuses it.
   */
  async finish(query: URLSearchParams): Promise<void> {
    const held = this.#held;
    if (!held?.take(query)) {
      const advice = "begin one, and finish it within ten minutes at the same Belljar";
      throw new BelljarError("LOGIN_NOT_FOUND", `No login of the MCP server "${this.#target.name}" waits with this state: ${advice}`);
    }
    await held.ended.catch((cause: unknown) => {
      throw toRefusal(cause);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#held?.[Symbol.dispose]();
    (await this.#watching)?.close();
  }
}

/** Not the caller of Belljar is unauthorised. */
function toRefusal(cause: unknown): unknown {
  if (!(cause instanceof BelljarError) || cause.code !== "UNAUTHORIZED") return cause;
  return new BelljarError("SERVER_REFUSED", cause.message, { cause });
}

/** Whether a request failed because nobody has logged in, or because the login is over. More scopes for one call are another matter. */
export function isLoginOver(cause: unknown): boolean {
  return loginWanted(cause)?.challenge.wantsScope === false;
}
