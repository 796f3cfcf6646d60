import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BrowserAction } from "./actions/action.ts";
import type { CalledAnswer, DriverConnection } from "./driver-connection.ts";
import { startDriver } from "./start-driver.ts";

export interface BrowsersOptions {
  /** `browser.path`: tried after Debian's. */
  readonly path?: string | undefined;
  readonly idleMs: number;
}

export interface BrowserCall {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

/** The browser of a sandbox, as one session sees it. */
export interface BrowserSession {
  /** Starts the browser if none runs. Rejects with a code of `DRIVER_CODES`, `BROWSER_FAILED`, or one of the guest's. */
  call<Args, Value>(action: BrowserAction<Args, Value>, args: Args, options: BrowserCall): Promise<CalledAnswer<Value>>;
  /** Closes the tabs of the session, if there are any. */
  leave(): void;
}

type WithGuest = Pick<Sandbox, "id" | "guest" | "generation">;

const ACTION_MS = 10_000;
const ACTION_MAX_MS = 50_000;
const CLOSE_MS = 5_000;

/** The browsers that this process has started, at most one for each sandbox. Disposing it ends them all. */
export class Browsers implements AsyncDisposable {
  readonly #options: BrowsersOptions;
  readonly #bySandbox = new Map<string, Promise<DriverConnection>>();
  readonly #closing = new AbortController();

  constructor(options: BrowsersOptions) {
    this.#options = options;
  }

  of(sandbox: WithGuest, session: string): BrowserSession {
    return {
      call: async (action, args, { signal, timeoutMs = ACTION_MS }) => {
        const driver = await this.#driver(sandbox, signal);
        return driver.call(action, { args, session, timeoutMs: Math.min(timeoutMs, ACTION_MAX_MS), signal });
      },
      leave: () =>
        void this.#bySandbox
          .get(keyOf(sandbox))
          ?.then((driver) => driver.leave(session))
          .catch(() => undefined),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const drivers = await Promise.allSettled(this.#bySandbox.values());
    await Promise.all(
      drivers.flatMap((one) => (one.status === "fulfilled" ? [settleWithin(one.value.gone, { timeoutMs: CLOSE_MS })] : [])),
    );
  }

  /** The callers of one start share it; one that gives up leaves it to the others. */
  async #driver(sandbox: WithGuest, signal: AbortSignal): Promise<DriverConnection> {
    if (this.#closing.signal.aborted) throw new BelljarError("CANCELLED", "Belljar is ending");
    const key = keyOf(sandbox);
    const known = this.#bySandbox.get(key);
    const starting = known ?? this.#start(sandbox, key);
    const driver = await abandonable(starting, signal);
    return driver;
  }

  #start(sandbox: WithGuest, key: string): Promise<DriverConnection> {
    const forget = (): void => void (this.#bySandbox.get(key) === starting && this.#bySandbox.delete(key));
    const starting = startDriver(sandbox, { ...this.#options, signal: this.#closing.signal });
    this.#bySandbox.set(key, starting);
    starting.then(({ gone }) => gone.then(forget), forget);
    return starting;
  }
}

/** Each run of a sandbox has a browser of its own. */
function keyOf({ id, generation }: WithGuest): string {
  return `${id} ${generation ?? ""}`;
}

async function abandonable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => undefined);
  signal.throwIfAborted();
  const settled = await settleWithin(promise, { timeoutMs: ACTION_MAX_MS, signal });
  if (settled !== "late") return settled;
  signal.throwIfAborted();
  throw new BelljarError("BROWSER_FAILED", `The browser did not start within ${ACTION_MAX_MS} ms`);
}
