import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { raceLasting } from "../../../async/race-lasting.ts";
import { BelljarError } from "../../../errors.ts";
import type { Instances } from "../instances.ts";
import type { ServerInstance } from "../server-instance.ts";
import type { KeyOf, RelayContext } from "./relay-context.ts";
import { Subscriptions } from "./subscriptions.ts";

const AGAIN_FIRST_MS = 1_000;
const AGAIN_LAST_MS = 300_000;
/** Of one caller, at one server. */
const FOLLOWED_MAX = 256;

/** A server that told of a resource for so long did not end because it was started. */
const SETTLED_MS = 60_000;

export interface Follower {
  readonly context: Pick<RelayContext, "principal" | "clientId">;
  readonly uri: string;
  readonly updated: () => void;
}

interface Held extends Follower {
  /** Of the instance that tells it. */
  readonly key: string;
  /** Aborts when nobody follows any more. */
  readonly life: AbortSignal;
  /** Aborts then, and when this server is gone. */
  readonly here: AbortController;
}

/**
 * The resources of one server that clients follow. As long as a client follows one its instance stays. If the instance ends, another one is
 * started, and the resource counts as updated. Disposing it ends that, and each resource counts as updated a last time.
 */
export class ServerFollows implements Disposable {
  readonly #instances: Instances<ServerInstance>;
  readonly #keyOf: KeyOf;
  readonly #subscriptions = new Subscriptions();
  readonly #held = new Set<Held>();
  #isClosed = false;

  constructor(instances: Instances<ServerInstance>, keyOf: KeyOf) {
    this.#instances = instances;
    this.#keyOf = keyOf;
  }

  /** Calls `updated` until what it gives is disposed. Rejects as the start and the server's answer do, and with `QUOTA_EXCEEDED`. */
  async follow(follower: Follower, signal: AbortSignal): Promise<Disposable> {
    const { id } = follower.context.principal;
    const own = [...this.#held].filter(({ context }) => context.principal.id === id).length;
    if (own >= FOLLOWED_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `You follow ${FOLLOWED_MAX} resources of this server: unsubscribe from some of them`);
    const life = new AbortController();
    const giveUp = (): void => life.abort(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    const held = this.#add(follower, life.signal);
    try {
      await new Promise<void>((resolve, reject) => {
        const first = this.#hold(held, resolve);
        first.then(() => this.#holdOn(held, AGAIN_FIRST_MS), reject);
      });
    } catch (cause) {
      life.abort();
      throw cause;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
    return { [Symbol.dispose]: () => life.abort() };
  }

  /** Follows for those who followed at another server, which this one replaces, if they still may. Never rejects. */
  async takeOver(from: ServerFollows, assertMay: (follower: Follower) => Promise<void>): Promise<void> {
    const all = [...from.#held].map(async (held) => {
      await assertMay(held);
      await this.#holdOn(this.#add(held, held.life), 0);
    });
    await Promise.allSettled(all);
  }

  /** An instance says that a resource has changed. */
  tell(instance: ServerInstance | undefined, uri: string): void {
    const key = instance && this.#instances.keyOf(instance);
    for (const held of this.#held) if (held.key === key && held.uri === uri) held.updated();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const { here, updated } of this.#held) {
      here.abort();
      updated();
    }
    this.#held.clear();
  }

  #add({ context, uri, updated }: Follower, life: AbortSignal): Held {
    const held: Held = { context, uri, updated, key: this.#keyOf(context), life, here: new AbortController() };
    const over = (): void => {
      held.here.abort(life.reason);
      this.#held.delete(held);
    };
    life.addEventListener("abort", over, { once: true });
    held.here.signal.addEventListener("abort", () => life.removeEventListener("abort", over), { once: true });
    if (life.aborted || this.#isClosed) over();
    else this.#held.add(held);
    return held;
  }

  /** Resolves once the instance has ended, or nobody follows the resource any more. */
  async #hold({ key, uri, here: { signal } }: Held, begun: () => void): Promise<void> {
    await this.#instances.use(key, signal, async ({ session, ended }) => {
      await using following = await this.#subscriptions.follow(session, uri, signal);
      begun();
      await raceLasting(ended, raceLasting(following.ended, aborted(signal)));
    });
  }

  /** Never rejects. A server that cannot be started, or ends at once, is tried later and later. */
  async #holdOn(held: Held, firstMs: number): Promise<void> {
    const { signal } = held.here;
    let pauseMs = firstMs;
    while (!signal.aborted) {
      await wait(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      let begunAt = Infinity;
      const begun = (): void => {
        begunAt = performance.now();
        held.updated();
      };
      await this.#hold(held, begun).catch(() => undefined);
      const isSettled = performance.now() - begunAt > SETTLED_MS;
      pauseMs = isSettled ? AGAIN_FIRST_MS : Math.min(AGAIN_LAST_MS, Math.max(AGAIN_FIRST_MS, pauseMs * 2));
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
