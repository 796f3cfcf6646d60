import { TurnsByKey } from "../../async/turns-by-key.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

/** One caller, client and version, as a text. */
export type SessionKey = string;

/** A sandbox that nobody has used for so long ends. */
const IDLE_MS = 300_000;
/** One this old is not used again. */
export const SESSION_MS = 3_600_000;
/** Of this process. Beyond it the one that was used least recently ends. */
const SESSIONS_MAX = 32;

export interface SessionWork<T> {
  /** The sandbox lives for `SESSION_MS` and a call at least. */
  readonly create: () => Promise<Sandbox>;
  readonly work: (sandbox: Sandbox) => Promise<T>;
  readonly signal: AbortSignal;
}

interface Session {
  readonly sandbox: Sandbox;
  readonly since: number;
  idle?: NodeJS.Timeout;
}

/** Sandboxes that are used again by the same caller alone, one call at a time. Disposing ends them. */
export class SessionSandboxes implements AsyncDisposable {
  readonly #turns = new TurnsByKey();
  /** Those that no call has now, least recently used first. */
  readonly #waiting = new Map<SessionKey, Session>();
  #isClosed = false;

  /** After work that rejects the sandbox ends: what the code left behind is not known. */
  use<T>(key: SessionKey, { create, work, signal }: SessionWork<T>): Promise<T> {
    return this.#turns.run(
      key,
      async () => {
        const session = this.#take(key) ?? this.#begin(key, await create());
        try {
          const result = await work(session.sandbox);
          await this.#put(key, session);
          return result;
        } catch (cause) {
          await session.sandbox.kill();
          throw cause;
        }
      },
      signal,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#turns.idle();
    await Promise.all([...this.#waiting.keys()].map((key) => this.#end(key)));
  }

  /** One that ends by itself is no session any more. */
  #begin(key: SessionKey, sandbox: Sandbox): Session {
    const session: Session = { sandbox, since: performance.now() };
    void sandbox.ended?.then(() => this.#waiting.get(key) === session && this.#remove(key));
    return session;
  }

  /** The next call makes another one in the place of one that is too old. */
  #take(key: SessionKey): Session | undefined {
    const session = this.#remove(key);
    if (!session || !isOld(session)) return session;
    void session.sandbox.kill().catch(() => undefined);
    return undefined;
  }

  #remove(key: SessionKey): Session | undefined {
    const session = this.#waiting.get(key);
    this.#waiting.delete(key);
    clearTimeout(session?.idle);
    return session;
  }

  async #put(key: SessionKey, session: Session): Promise<void> {
    if (this.#isClosed || isOld(session)) return session.sandbox.kill();
    this.#waiting.set(key, session);
    session.idle = setTimeout(() => void this.#end(key), IDLE_MS).unref();
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > SESSIONS_MAX && oldest !== undefined) await this.#end(oldest);
    return undefined;
  }

  /** A sandbox that cannot be ended ends at its deadline. */
  async #end(key: SessionKey): Promise<void> {
    const session = this.#remove(key);
    await session?.sandbox.kill().catch(() => undefined);
  }
}

function isOld({ since }: Session): boolean {
  return performance.now() - since > SESSION_MS - IDLE_MS;
}
