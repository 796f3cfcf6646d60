import { type LoginOptions, loginWanted, ServerLogin } from "../../client/oauth/server-login.ts";
import type { HubServer } from "../hub-server.ts";

/** Where an owner's login at a server is kept, and how a person is told to log in. No two owners have one folder. */
export type HubLogins = (owner: string, server: HubServer) => LoginOptions;

export interface UpstreamLoginEars {
  /** Called after another process has changed the login to one that may count. */
  readonly loggedIn: () => void;
  readonly report: (problem: string) => void;
}

/** The login that all instances of a server share. Disposing it ends its watch for logins that other processes make. */
export class UpstreamLogin implements AsyncDisposable {
  readonly login: ServerLogin;
  readonly #watching: Promise<{ close(): void } | undefined>;

  private constructor(login: ServerLogin, { loggedIn, report }: UpstreamLoginEars) {
    this.login = login;
    const failed = (cause: unknown): void => report(`Logins that other processes make are not noticed: ${String(cause)}`);
    this.#watching = login.watch({ changed: loggedIn, failed }).catch((cause: unknown) => {
      failed(cause);
      return undefined;
    });
  }

  /** Undefined for a program, and for a server whose headers say who calls. */
  static of({ name, target }: HubServer, options: LoginOptions | undefined, ears: UpstreamLoginEars): UpstreamLogin | undefined {
    if (!options || target.kind === "stdio" || !target.oauth) return undefined;
    return new UpstreamLogin(new ServerLogin({ name, url: target.url }, target.oauth, options), ears);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#watching)?.close();
  }
}

/** Whether a request failed because nobody has logged in, or because the login is over. More scopes for one call are another matter. */
export function isLoginOver(cause: unknown): boolean {
  return loginWanted(cause)?.challenge.wantsScope === false;
}
