import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { raceLasting } from "../../../async/race-lasting.ts";
import { BelljarError } from "../../../errors.ts";
import type { Instances } from "../instances.ts";
import type { ServerInstance } from "../server-instance.ts";
import { Subscriptions } from "./subscriptions.ts";

const AGAIN_FIRST_MS = 1_000;
const AGAIN_LAST_MS = 300_000;
/** Of one caller, at one server. */
const FOLLOWED_MAX = 256;

interface Follower {
  /** Of the instance that tells it. */
  readonly key: string;
  /** The id of the caller. */
  readonly caller: string;
  readonly uri: string;
  readonly updated: () => void;
}

/**
 * The resources of one server that clients follow. As long as a client follows one its instance stays. If the instance ends, another one is
 * started, and the resource counts as updated.
 */
export class ServerFollows {
  readonly #instances: Instances<ServerInstance>;
  readonly #subscriptions = new Subscriptions();
  readonly #followers = new Set<Follower>();

  constructor(instances: Instances<ServerInstance>) {
    this.#instances = instances;
  }

  /** Calls `updated` until what it gives is disposed. Rejects as the start and the server's answer do, and with `QUOTA_EXCEEDED`. */
  async follow(follower: Follower, signal: AbortSignal): Promise<Disposable> {
    const own = [...this.#followers].filter(({ caller }) => caller === follower.caller).length;
    if (own >= FOLLOWED_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `You follow ${FOLLOWED_MAX} resources of this server: unsubscribe from some of them`);
    const life = new AbortController();
    const giveUp = (): void => life.abort(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    this.#followers.add(follower);
    const stop = (): void => {
      life.abort();
      this.#followers.delete(follower);
    };
    try {
      await new Promise<void>((resolve, reject) => {
        const first = this.#hold(follower, life.signal, resolve);
        first.then(() => this.#holdOn(follower, life.signal), reject);
      });
    } catch (cause) {
      stop();
      throw cause;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
    return { [Symbol.dispose]: stop };
  }

  /** An instance says that a resource has changed. */
  tell(instance: ServerInstance | undefined, uri: string): void {
    const key = instance && this.#instances.keyOf(instance);
    for (const follower of this.#followers) if (follower.key === key && follower.uri === uri) follower.updated();
  }

  /** Resolves once the instance has ended, or nobody follows the resource any more. */
  async #hold({ key, uri }: Follower, signal: AbortSignal, begun: () => void): Promise<void> {
    await this.#instances.use(key, signal, async ({ session, ended }) => {
      await using following = await this.#subscriptions.follow(session, uri, signal);
      begun();
      await raceLasting(ended, raceLasting(following.ended, aborted(signal)));
    });
  }

  /** Never rejects. A server that cannot be started, or ends at once, is tried later and later. */
  async #holdOn(follower: Follower, signal: AbortSignal): Promise<void> {
    let pauseMs = AGAIN_FIRST_MS;
    while (!signal.aborted) {
      await wait(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(AGAIN_LAST_MS, pauseMs * 2);
      const begun = (): void => follower.updated();
      if (!signal.aborted) await this.#hold(follower, signal, begun).catch(() => undefined);
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
