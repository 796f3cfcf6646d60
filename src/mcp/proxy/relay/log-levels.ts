import type { ServerSession } from "../../client/server-session.ts";
import type { RelayContext } from "./relay-context.ts";

/** A server that does not answer holds up its first call so long, and no other. */
const ANSWER_MS = 5_000;

/** Tells servers of the older era which messages of the log their clients want. Newer ones learn it with each request. */
export class LogLevels {
  readonly #told = new WeakMap<ServerSession, string>();

  /** Before a call of the client, once for each change. Never rejects: a server that cannot be told sends what it likes. */
  async tell(session: ServerSession, { client, log }: RelayContext, signal: AbortSignal): Promise<void> {
    const { logLevel: level, namesLogLevel } = client ?? {};
    if (session.era !== "legacy" || session.capabilities["logging"] === undefined) return;
    if (!log || !namesLogLevel || level === undefined || this.#told.get(session) === level) return;
    this.#told.set(session, level);
    await session.request("logging/setLevel", { level }, { signal, timeoutMs: ANSWER_MS }).catch(() => undefined);
  }
}
