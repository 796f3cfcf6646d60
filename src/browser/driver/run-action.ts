import { raceLasting } from "../../async/race-lasting.ts";
import type { DriverRequest } from "../wire.ts";
import { HANDLERS } from "./actions/handlers.ts";
import { DriverError, toFailure } from "./driver-error.ts";
import type { Answer } from "./handler.ts";
import type { Session } from "./session.ts";
import type { Tab } from "./tab.ts";

/** Does what is asked, in the session's current tab. Rejects when the signal aborts, also if the page goes on. */
export async function runAction(session: Session, request: DriverRequest, signal: AbortSignal): Promise<Answer<unknown>> {
  const handler = HANDLERS.find(({ name }) => name === request.action);
  if (!handler) throw new DriverError("ARGUMENTS_INVALID", `There is no action "${request.action}"`);
  const tab = await unlessAborted(session.current(), signal);
  session.touch(tab);
  const work = async (): Promise<Answer<unknown>> => {
    await tab.thaw();
    if (handler.isUrgent !== true) await tab.show();
    const running = handler.run(tab, request.args as never, signal);
    return handler.endsTab === true ? unlessAborted(running, signal) : within(tab, running, signal);
  };
  return handler.isUrgent === true ? work() : tab.turns.run(work, signal);
}

async function within<T>(tab: Tab, running: Promise<T>, signal: AbortSignal): Promise<T> {
  running.catch(() => undefined);
  try {
    return await raceLasting(tab.lost, unlessAborted(running, signal));
  } catch (error) {
    throw await judge(tab, error);
  }
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

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let give: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    give = () => reject(signal.reason instanceof DriverError ? signal.reason : new DriverError("CANCELLED", "The call was cancelled"));
  });
  signal.addEventListener("abort", give, { once: true });
  if (signal.aborted) give();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", give);
  }
}
