import { Turns } from "../../async/turns.ts";
import { listAll } from "../../sandbox/list-sandboxes.ts";
import { reachOf } from "../../sandbox/reach.ts";
import type { Principal, SandboxEvent, Sandboxes } from "../../sandbox/sandbox.ts";

/** The most owners and projects that are followed at once. For one more, the one that was followed first is let go. */
const OWNERS_MAX = 1_000;

/** After a `resync` any of the owner's sandboxes may have changed. */
export type FollowedEvent =
  | Exclude<SandboxEvent, { readonly type: "resync" }>
  | { readonly type: "resync"; readonly sandboxes: readonly string[] };

/** `reach`: that of the principals who may know of the event. */
type Listener = (reach: string, event: FollowedEvent) => void;

interface Following {
  readonly stop: AbortController;
  /** Resolves once the events have begun or failed. */
  readonly begun: Promise<void>;
}

/** Passes the events of followed owners to the listeners, until the sandboxes are closed. */
export class SandboxFollower {
  readonly #sandboxes: Pick<Sandboxes, "events" | "list">;
  readonly #listeners = new Set<Listener>();
  readonly #following = new Map<string, Following>();
  readonly #lists = new Turns();

  constructor(sandboxes: Pick<Sandboxes, "events" | "list">) {
    this.#sandboxes = sandboxes;
  }

  /** Follows an owner. Resolves once the events have begun. If they fail, it resolves too, since the client can read the resource anyway. */
  follow(principal: Principal): Promise<void> {
    const reach = reachOf(principal);
    const known = this.#following.get(reach);
    if (known) return known.begun;
    const stop = new AbortController();
    const begun = new Promise<void>((resolve) => void this.#run(principal, stop.signal, resolve));
    this.#following.set(reach, { stop, begun });
    this.#letGo();
    return begun;
  }

  onEvent(listener: Listener): () => void {
    const entry: Listener = (...event) => listener(...event);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  async #run(principal: Principal, signal: AbortSignal, begun: () => void): Promise<void> {
    let isFirst = true;
    try {
      for await (const event of this.#sandboxes.events(principal, signal)) {
        // The first event tells of nothing: clients read after it.
        if (!isFirst) await this.#tell(principal, event);
        isFirst = false;
        begun();
      }
    } catch {
      // The next call of `follow` tries again.
    }
    begun();
    if (!signal.aborted) this.#following.delete(reachOf(principal));
  }

  /** The owner's sandboxes are listed once for all listeners, and one owner at a time. Meanwhile further events are joined. */
  async #tell(principal: Principal, event: SandboxEvent): Promise<void> {
    const followed = event.type === "resync" ? { ...event, sandboxes: await this.#lists.run(() => this.#list(principal)) } : event;
    for (const listener of this.#listeners) listener(reachOf(principal), followed);
  }

  /** If they cannot be listed, only the change of the list is told. */
  async #list(principal: Principal): Promise<readonly string[]> {
    const ids: string[] = [];
    try {
      for await (const { id } of listAll(this.#sandboxes, principal, {})) ids.push(id);
    } catch {
      return ids;
    }
    return ids;
  }

  #letGo(): void {
    const [oldest] = this.#following;
    if (this.#following.size <= OWNERS_MAX || !oldest) return;
    oldest[1].stop.abort();
    this.#following.delete(oldest[0]);
  }
}
