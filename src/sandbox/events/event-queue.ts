import type { SandboxEvent } from "../wire/event-schema.ts";

/** The most events that one reader may leave unread. */
const UNREAD_MAX = 256;
const RESYNC: SandboxEvent = { type: "resync" };

/**
 * The events that one reader has not read yet. The first event is `resync`. If a reader falls behind, one `resync` replaces all its unread
 * events. Until the reader takes that `resync`, later events are dropped: the reader lists after it, and sees them in the list.
 */
export class EventQueue {
  #unread: SandboxEvent[] = [RESYNC];
  #isBehind = false;
  #wake: () => void = () => undefined;
  #end: { readonly error?: Error } | undefined;

  push(event: SandboxEvent): void {
    if (this.#isBehind) return;
    this.#isBehind = event.type === "resync" || this.#unread.length >= UNREAD_MAX;
    if (this.#isBehind) this.#unread = [RESYNC];
    else this.#unread.push(event);
    this.#wake();
  }

  /** Ends the reading at once, and throws the error if there is one. */
  end(error?: Error): void {
    this.#end ??= { ...(error && { error }) };
    this.#wake();
  }

  /** Ends when the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<SandboxEvent, void, undefined> {
    const wake = (): void => this.#wake();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted && !this.#end) {
        const event = this.#unread.shift();
        this.#isBehind = false;
        if (event) yield event;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
    if (this.#end?.error && !signal.aborted) throw this.#end.error;
  }
}
