import { raceLasting } from "../../async/race-lasting.ts";
import { settleWithin } from "../../async/settle-within.ts";
import type { DriverRequest } from "../wire.ts";
import { HANDLERS } from "./actions/handlers.ts";
import { DriverError, toFailure } from "./driver-error.ts";
import type { Answer } from "./handler.ts";
import type { Session } from "./session.ts";
import type { Tab } from "./tab.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** So long one that is broken off has to say how far it came. */
const LAST_WORD_MS = 1_000;
/** And so long to end. */
const END_MS = 5_000;

/**
 * Does what is asked, in the session's current tab. When the signal aborts it is broken off, and rejects soon, also if the page goes on. The
 * next call has its turn when nothing of this one goes on.
 */
export async function runAction(session: Session, request: DriverRequest, signal: AbortSignal): Promise<Answer<unknown>> {
  const call = { signal, endsAt: performance.now() + request.timeoutMs };
  const handler = HANDLERS.find(({ name }) => name === request.action);
  if (!handler) throw new DriverError("ARGUMENTS_INVALID", `There is no action "${request.action}"`);
  const tab = await unlessAborted(session.current(), signal);
  session.touch(tab);
  const begin = async (): Promise<Answer<unknown>> => {
    await tab.thaw();
    if (handler.isUrgent !== true) await tab.show();
    signal.throwIfAborted();
    return handler.run(tab, request.args as never, call);
  };
  if (handler.endsTab === true) return unlessAborted(begin(), signal);
  if (handler.isUrgent === true) return within(tab, begin(), signal);
  const turn = await tab.turns.take(signal);
  if (!session.all.includes(tab)) {
    turn[Symbol.dispose]();
    throw new DriverError("TAB_NOT_FOUND", "The tab was closed while the call waited for its turn");
  }
  const running = begin();
  void ended(tab, running, { signal, mayLinger: handler.mayLinger === true }).finally(() => turn[Symbol.dispose]());
  return within(tab, running, signal);
}

async function within<T>(tab: Tab, running: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await raceLasting(tab.lost, unlessBrokenOff(running, signal));
  } catch (error) {
    throw await judge(tab, error);
  }
}

/** Settles like the promise, also when the signal has aborted, if it settles soon; else rejects with the signal's reason. */
async function unlessBrokenOff<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  await unlessAborted(running, signal).catch(() => undefined);
  const last = await settleWithin(running, { timeoutMs: LAST_WORD_MS });
  if (last === "late") throw signal.reason;
  return last;
}

/** Resolves when nothing of a call goes on. Never rejects. What does not end loses its tab, for it would act on what the next call opens. */
async function ended(
  tab: Tab,
  running: Promise<unknown>,
  { signal, mayLinger }: { signal: AbortSignal; mayLinger: boolean },
): Promise<void> {
  const end = raceLasting(tab.lost, running).catch(() => undefined);
  await unlessAborted(end, signal).catch(() => undefined);
  if (!mayLinger && (await settleWithin(end, { timeoutMs: END_MS })) === "late") tab.discard();
}

/** What fails because its page hangs or has crashed says something else, or says it first. */
async function judge(tab: Tab, error: unknown): Promise<unknown> {
  const state = await Promise.race([tab.isAlive(), tab.lost.catch((lost: unknown) => lost)]);
  if (state === true) return error;
  if (state !== false) return state;
  tab.discard();
  const { message } = toFailure(error);
  return new DriverError(
    "PAGE_UNRESPONSIVE",
    `${message}. The page blocks its thread, so its tab was closed; the next call opens a new one`,
  );
}
