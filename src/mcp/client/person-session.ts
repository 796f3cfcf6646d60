import type { OpenLoginDoor } from "./oauth/login-door.ts";
import type { ServerLogin } from "./oauth/server-login.ts";
import { loginWanted } from "./oauth/server-login.ts";
import type { ServerSession } from "./server-session.ts";

/** What a client needs of a session. */
export type ClientSession = Pick<
  ServerSession,
  "era" | "instructions" | "capabilities" | "mirrors" | "request" | typeof Symbol.asyncDispose
>;

export interface PersonOptions {
  readonly login: ServerLogin;
  readonly openDoor: OpenLoginDoor;
  readonly signal?: AbortSignal | undefined;
}

/** A request may need a login, and then one with more scopes. */
const LOGINS_MAX = 2;

/**
 * A session whose start and requests wait for a person where only a login helps. A request that the server refused had no effect, and is
 * made again after the login. Logins take longer than requests may, so they are no part of these.
 */
export async function openPersonSession(open: () => Promise<ClientSession>, options: PersonOptions): Promise<ClientSession> {
  const session = await withPerson(open, options);
  return {
    get era() {
      return session.era;
    },
    get instructions() {
      return session.instructions;
    },
    get capabilities() {
      return session.capabilities;
    },
    get mirrors() {
      return session.mirrors;
    },
    request: (method, params, request) =>
      withPerson(() => session.request(method, params, request), { ...options, signal: request?.signal }),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function withPerson<T>(work: () => Promise<T>, { login, openDoor, signal }: PersonOptions): Promise<T> {
  for (let logins = 0; ; logins += 1) {
    try {
      return await work();
    } catch (cause) {
      const wanted = loginWanted(cause);
      if (!wanted || logins === LOGINS_MAX) throw cause;
      await login.byPerson(wanted, openDoor, { signal });
    }
  }
}
