import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";

interface Listener {
  readonly principalId: string | undefined;
  readonly hear: (event: ServerEvent) => void;
}

/** Hands events to the streams of those whom they concern: the SDK's own bus would tell everybody who guesses a URI. */
export class PrincipalBus implements ServerEventBus {
  readonly #current = new AsyncLocalStorage<string>();
  readonly #listeners = new Set<Listener>();

  /** Streams that `work` opens belong to the principal. */
  as<T>(principalId: string, work: () => T): T {
    return this.#current.run(principalId, work);
  }

  subscribe(hear: (event: ServerEvent) => void): () => void {
    const listener = { principalId: this.#current.getStore(), hear };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** To everybody. */
  publish(event: ServerEvent): void {
    for (const { hear } of this.#listeners) hear(event);
  }

  publishTo(principalId: string, event: ServerEvent): void {
    for (const listener of this.#listeners) if (listener.principalId === principalId) listener.hear(event);
  }
}
