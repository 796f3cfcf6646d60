import { isDeepStrictEqual } from "node:util";
import type { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import type { StoredLists } from "./stored-lists.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Caller } from "../../catalog/caller.ts";

/** A client of an older protocol revision, between its `initialize` and its end. */
export interface Session {
  readonly caller: Caller;
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly lists: StoredLists;
}

export interface SessionLimits {
  readonly maxSessions: number;
  /** A session in which no request is open ends after this long. */
  readonly idleMs: number;
}

export interface SessionsOptions extends SessionLimits {
  /** Told of each session that has ended, whatever ended it. */
  readonly ended?: (id: string, session: Session) => void;
}

interface Entry {
  readonly session: Session;
  readonly timer: NodeJS.Timeout;
  openRequests: number;
}

/** The live sessions, least recently used first. Their number and their idle time are bounded. */
export class Sessions {
  readonly #entries = new Map<string, Entry>();
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Somebody else's session answers as an unknown one; also that of another token of the same owner, which may do less or more. */
  get(id: string, principal: Principal): Session | undefined {
    const session = this.#entries.get(id)?.session;
    return isDeepStrictEqual(session?.caller.principal, principal) ? session : undefined;
  }

  /** Makes room by ending the longest idle session. False: every session is in use. */
  makeRoom(): boolean {
    if (this.#entries.size < this.#options.maxSessions) return true;
    for (const [id, entry] of this.#entries) {
      if (entry.openRequests > 0) continue;
      this.end(id);
      return true;
    }
    return false;
  }

  add(id: string, session: Session): void {
    const timer = setTimeout(() => this.#expire(id), this.#options.idleMs);
    timer.unref();
    this.#entries.set(id, { session, timer, openRequests: 0 });
  }

  /** The session is in use until the returned function is called. */
  use(id: string): () => void {
    const entry = this.#entries.get(id);
    if (!entry) return () => undefined;
    entry.openRequests += 1;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return () => {
      entry.openRequests -= 1;
      entry.timer.refresh();
      if (!this.#entries.has(id)) clearTimeout(entry.timer);
    };
  }

  /** Aborts the session's calls and closes its streams. */
  end(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    clearTimeout(entry.timer);
    void entry.session.transport.close();
    this.#options.ended?.(id, entry.session);
  }

  endAll(): void {
    for (const id of this.#entries.keys()) this.end(id);
  }

  #expire(id: string): void {
    if (this.#entries.get(id)?.openRequests === 0) this.end(id);
  }
}
