import { BelljarError } from "../../../errors.ts";
import { isSameState, type LoginReturn, type OpenLoginDoor } from "../../client/oauth/login-door.ts";
import { isLoopbackUrl } from "../../client/oauth/reach.ts";

/** A login that waits for its person, who opens the address with any browser. */
export interface BegunLogin {
  readonly authorizationUrl: string;
  /** Of this login alone; nobody else knows it. */
  readonly state: string;
  /** Where the browser comes back to. */
  readonly redirectUri: string;
  readonly expiresAt: Date;
}

/** How long a person may take. */
const LIFE_MS = 10 * 60_000;
const REDIRECT_MAX = 2_048;
/** Nobody needs to listen there: the address that the browser shows is enough. */
const PORT = 33_418;

/** Makes the login until the signal aborts. Rejects as `ServerLogin.logIn`. */
export type MakeLogin = (openDoor: OpenLoginDoor, signal: AbortSignal) => Promise<unknown>;

/** A login whose person has no way to this process but whoever began it. It ends with its answer, or after ten minutes. */
export class HeldLogin implements Disposable {
  /** Rejects as the login, if that fails before a person is needed. */
  readonly begun: Promise<BegunLogin>;
  /** Resolves once the login is kept. Rejects as the login. */
  readonly ended: Promise<void>;
  readonly #over = new AbortController();
  #waiting: { readonly state: string; readonly take: (back: LoginReturn) => void } | undefined;

  constructor(logIn: MakeLogin, redirectUri?: string) {
    let tell: (begun: BegunLogin) => void = () => undefined;
    const told = new Promise<BegunLogin>((resolve) => (tell = resolve));
    this.ended = this.#make(logIn, redirectUri, tell);
    this.begun = Promise.race([told, this.ended.then(() => told)]);
    // Whoever began it may have gone.
    for (const promise of [this.begun, this.ended]) promise.catch(() => undefined);
  }

  /** Gives the login what the browser came back with, once. False for what is of another login. */
  take(query: URLSearchParams): boolean {
    const waiting = this.#waiting;
    if (!waiting || !isSameState(query.get("state"), waiting.state)) return false;
    this.#waiting = undefined;
    waiting.take({ kind: "redirect", query });
    return true;
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #make(logIn: MakeLogin, redirectUri: string | undefined, tell: (begun: BegunLogin) => void): Promise<void> {
    const { signal } = this.#over;
    const timer = setTimeout(() => this.#over.abort(), LIFE_MS).unref();
    const expiresAt = new Date(Date.now() + LIFE_MS);
    const openDoor: OpenLoginDoor = async (wish) => {
      const redirectUrl = redirectUri ?? loopbackOf(wish.redirectUrl) ?? `http://127.0.0.1:${wish.port ?? PORT}/callback`;
      return {
        redirectUrl,
        authorize: (address, until) => {
          const back = this.#wait(address.searchParams.get("state") ?? "", until);
          const state = address.searchParams.get("state") ?? "";
          tell({ authorizationUrl: address.href, state, redirectUri: redirectUrl, expiresAt });
          return back;
        },
        [Symbol.asyncDispose]: async () => undefined,
      };
    };
    try {
      await logIn(openDoor, signal);
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  #wait(state: string, signal: AbortSignal): Promise<LoginReturn> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new BelljarError("CANCELLED", "The login was given up"));
      signal.addEventListener("abort", giveUp, { once: true });
      if (signal.aborted) giveUp();
      this.#waiting = { state, take: resolve };
    });
  }
}

/** Throws `ARGUMENTS_INVALID` for an address that a code must not be sent to. */
export function assertRedirect(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackUrl(url));
  if (url && isSafe && url.hash === "" && url.username === "" && url.password === "" && text.length <= REDIRECT_MAX) return;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    "redirectUri must be an https: address, or an http: address of loopback, without a password and a fragment",
  );
}

/** An earlier login may have led to somebody's page. */
function loopbackOf(redirectUrl: string | undefined): string | undefined {
  return redirectUrl !== undefined && URL.canParse(redirectUrl) && isLoopbackUrl(new URL(redirectUrl)) ? redirectUrl : undefined;
}
