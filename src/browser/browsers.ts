import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { USED_UP } from "../sandbox/used-up.ts";
import type { BrowserAction } from "./actions/action.ts";
import type { CalledAnswer, DriverConnection } from "./driver-connection.ts";
import { MESSAGE_MAX_BYTES } from "./frames.ts";
import { startDriver } from "./start-driver.ts";
import type { DriverOptions } from "./wire.ts";
import { ToldInside } from "./told-inside.ts";

export interface BrowsersOptions {
  /** `browser.path`: tried before Debian's. */
  readonly path?: string | undefined;
  /** `browser.idleMs`. */
  readonly idleMs: number;
  /** A tab that is not its session's current one is frozen after so long without a call. Default: a minute. */
  readonly restMs?: number | undefined;
  /** Where pages go out. Default: by the proxy of their sandbox. */
  readonly network?: DriverOptions["network"] | undefined;
}

export interface BrowserCall {
  /** When it aborts the call rejects at once, and the action is broken off. */
  readonly signal: AbortSignal;
  /** Default `ACTION_MS`, at most `ACTION_MAX_MS`. */
  readonly timeoutMs?: number | undefined;
}

/** The browser of a sandbox, as one session sees it. */
export interface BrowserSession {
  /** Starts the browser if none runs. Rejects with a code of `DRIVER_CODES`, with `BROWSER_FAILED`, or with one of the guest's. */
  call<Args, Value>(action: BrowserAction<Args, Value>, args: Args, options: BrowserCall): Promise<CalledAnswer<Value>>;
}

type Place = Pick<Sandbox, "id" | "guest" | "generation" | "info" | "isPaused" | "environment" | "resume" | "knownOomKills" | "usage">;

export const ACTION_MS = 10_000;
export const ACTION_MAX_MS = 50_000;
const ENVELOPE_BYTES = 1_024;

/** The browsers that this process has started, at most one for each sandbox. Disposing it ends them all. */
export class Browsers implements AsyncDisposable {
  readonly #options: BrowsersOptions;
  /** By run of a sandbox. */
  readonly #drivers = new Map<string, Promise<DriverConnection>>();
  readonly #closing = new AbortController();

  constructor(options: BrowsersOptions) {
    this.#options = options;
  }

  /** `session`: whose tabs. */
  of(sandbox: Place, session: string): BrowserSession {
    return {
      call: (action, args, options) => this.#call(sandbox, { session, action, args, ...options }),
    };
  }

  /** Closes the tabs of a session that has ended, in every sandbox. Its calls are aborted before. */
  leave(session: string): void {
    for (const starting of this.#drivers.values())
      void starting.then(
        (driver) => driver.leave(session),
        () => undefined,
      );
  }

  /**
   * For whoever takes a state of the sandbox: until the result is disposed, its files hold what the browser knows of its user. Undefined where
   * this process has no browser. Rejects only when the signal aborts. The sandbox is not paused.
   */
  async keep(sandbox: Pick<Place, "id" | "generation">, signal: AbortSignal): Promise<Disposable | undefined> {
    const driver = await settleWithin(this.#running(sandbox), { timeoutMs: ACTION_MAX_MS, signal });
    signal.throwIfAborted();
    if (!driver || driver === "late" || driver.hasEnded) return undefined;
    await driver.keep(signal).catch(() => signal.throwIfAborted());
    return { [Symbol.dispose]: () => driver.kept() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const drivers = await Promise.allSettled(this.#drivers.values());
    await Promise.all(drivers.flatMap((one) => (one.status === "fulfilled" ? [one.value.close()] : [])));
  }

  async #call<Args, Value>(sandbox: Place, call: CallOf<Args, Value>): Promise<CalledAnswer<Value>> {
    const { action, args, session, signal, timeoutMs = ACTION_MS } = call;
    assertSize(args);
    // A paused sandbox would not read what its open channel is given.
    await sandbox.resume();
    const oomKills = await sandbox.knownOomKills();
    try {
      const driver = await this.#driver(sandbox, signal);
      return await driver.call(action, { args, session, timeoutMs: Math.min(timeoutMs, ACTION_MAX_MS), signal });
    } catch (cause) {
      throw await tellMemory(sandbox, oomKills, this.#options.network === "machine" ? ofMachine(cause) : cause);
    }
  }

  /** The callers of one start share it; one that gives up leaves it to the others. */
  async #driver(sandbox: Place, signal: AbortSignal): Promise<DriverConnection> {
    if (this.#closing.signal.aborted) throw new BelljarError("CANCELLED", "Belljar is ending");
    const known = await this.#running(sandbox);
    // Its successor starts when nothing of it is left.
    if (known?.hasEnded === true) await settleWithin(known.gone, { timeoutMs: ACTION_MAX_MS, signal });
    const key = keyOf(sandbox);
    return abandonable(this.#drivers.get(key) ?? this.#start(sandbox, key), signal);
  }

  async #running(sandbox: Pick<Place, "id" | "generation">): Promise<DriverConnection | undefined> {
    return this.#drivers.get(keyOf(sandbox))?.catch(() => undefined);
  }

  #start(sandbox: Place, key: string): Promise<DriverConnection> {
    const forget = (): void => void (this.#drivers.get(key) === starting && this.#drivers.delete(key));
    const starting = startDriver(sandbox, { ...this.#options, signal: this.#closing.signal });
    this.#drivers.set(key, starting);
    starting.then(({ gone }) => gone.then(forget), forget);
    return starting;
  }
}

interface CallOf<Args, Value> extends BrowserCall {
  readonly session: string;
  readonly action: BrowserAction<Args, Value>;
  readonly args: Args;
}

/** Each run of a sandbox has a browser of its own. */
function keyOf({ id, generation }: Pick<Place, "id" | "generation">): string {
  return `${id} ${generation ?? ""}`;
}

function assertSize(args: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(args) ?? "");
  if (bytes > MESSAGE_MAX_BYTES - ENVELOPE_BYTES)
    throw new BelljarError(
      "REQUEST_TOO_LARGE",
      `The arguments have ${bytes} bytes, and a browser takes ${MESSAGE_MAX_BYTES - ENVELOPE_BYTES}`,
    );
}

/** The proxy is none of Belljar's, and no policy of a sandbox has refused anything. */
function ofMachine(cause: unknown): unknown {
  if (!(cause instanceof BelljarError) || cause.code !== "NETWORK_DENIED") return cause;
  return new ToldInside("NAVIGATION_FAILED", cause.message, { cause });
}

/** A kernel that runs out of memory kills a process of the browser, which looks like a crash. */
async function tellMemory(sandbox: Place, before: number | undefined, cause: unknown): Promise<unknown> {
  if (!(cause instanceof BelljarError) || before === undefined) return cause;
  if (cause.code !== "BROWSER_CRASHED" && cause.code !== "PAGE_CRASHED") return cause;
  const { oomKills = before } = await sandbox.usage().catch(() => ({ oomKills: before }));
  if (oomKills <= before) return cause;
  const remedy = "use a sandbox that was made with a larger memory limit, or fewer tabs";
  const Told = cause instanceof ToldInside ? ToldInside : BelljarError;
  return new Told(cause.code, `${cause.message}: ${USED_UP.memory}; ${remedy}`, { cause });
}

async function abandonable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => undefined);
  signal.throwIfAborted();
  const settled = await settleWithin(promise, { timeoutMs: ACTION_MAX_MS, signal });
  if (settled !== "late") return settled;
  signal.throwIfAborted();
  throw new BelljarError("BROWSER_FAILED", `The browser did not start within ${ACTION_MAX_MS} ms`);
}
