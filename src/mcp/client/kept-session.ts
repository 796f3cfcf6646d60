import { setTimeout as wait } from "node:timers/promises";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { ServerTarget } from "./config/resolve-server.ts";
import type { ConnectOptions } from "./connect-server.ts";
import { restartDelayMs } from "./restart-delay.ts";
import type { ServerSession } from "./server-session.ts";
import { CALL_TIMEOUT_MS, isOfLostSession, openSession } from "./server-session.ts";

/** Whoever has lived so long did not end because it was started. */
const SETTLED_MS = 60_000;

/**
 * A session that lasts longer than its server. A server that has ended is started again by the next request, after a delay if it goes on
 * ending. The request during which it ended is not repeated, because it may have had its effect. One that a server refused because it had
 * lost the session had none, and is repeated once.
 */
export async function openKeptSession(target: ServerTarget, options: ConnectOptions): Promise<ServerSession> {
  const closing = new AbortController();
  let session = await openSession(target, options);
  let startedAt = performance.now();
  let ends = 0;
  let starting: Promise<void> | undefined;

  const restart = async (): Promise<void> => {
    ends = performance.now() - startedAt > SETTLED_MS ? 1 : ends + 1;
    await wait(restartDelayMs(ends), undefined, { signal: closing.signal }).catch((cause: unknown) => {
      throw new BelljarError("CANCELLED", `The client of "${target.name}" was closed`, { cause });
    });
    await session[Symbol.asyncDispose]();
    startedAt = performance.now();
    session = await openSession(target, { ...options, signal: closing.signal });
  };
  const running = async (timeoutMs: number, signal: AbortSignal | undefined): Promise<ServerSession> => {
    if (!starting && !session.hasEnded()) return session;
    starting ??= restart().finally(() => (starting = undefined));
    // The start goes on for those who ask later.
    starting.catch(() => undefined);
    if ((await settleWithin(starting, { timeoutMs, ...(signal && { signal }) })) !== "late") return session;
    if (signal?.aborted) throw new BelljarError("CANCELLED", `The start of "${target.name}" was cancelled`);
    throw new BelljarError("EXEC_TIMEOUT", `The server "${target.name}" has ended, and did not start again in time`);
  };
  return {
    get mirrors() {
      return session.mirrors;
    },
    get era() {
      return session.era;
    },
    get capabilities() {
      return session.capabilities;
    },
    get instructions() {
      return session.instructions;
    },
    get ended() {
      return session.ended;
    },
    hasEnded: () => session.hasEnded(),
    async request(method, params, request = {}) {
      const ready = async (): Promise<ServerSession> =>
        running(request.timeoutMs ?? target.callTimeoutMs ?? CALL_TIMEOUT_MS, request.signal);
      try {
        return await (await ready()).request(method, params, request);
      } catch (cause) {
        if (!isOfLostSession(cause)) throw cause;
        return (await ready()).request(method, params, request);
      }
    },
    async follow(uri, signal) {
      return (await running(target.callTimeoutMs ?? CALL_TIMEOUT_MS, signal)).follow(uri, signal);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await starting?.catch(() => undefined);
      await session[Symbol.asyncDispose]();
    },
  };
}
