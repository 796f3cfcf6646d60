import { BelljarError } from "../../../../errors.ts";
import type { ExecExit } from "../../../../sandbox/sandbox.ts";

export type OutputKind = "stdout" | "stderr" | "pty";

export interface Output {
  readonly kind: OutputKind;
  readonly bytes: Buffer;
}

/** What a listener is told last. */
export type End = { readonly exit: ExecExit } | { readonly error: BelljarError };

/** What one listener may hold untaken. */
const HELD_MAX_BYTES = 524_288;
/** In this time a full listener must take as much as it may hold, while others listen too. */
const STALL_MS = 5_000;

/** Whoever prints: it is read no further while a listener is full. */
export interface Source {
  pause(): void;
  resume(): void;
}

/**
 * Gives what one process prints to all who listen, each from the time on when it came. Nothing is dropped: the process waits while a listener is
 * full, as it would at a pipe. One listener alone may take its time. Where there are several, one that stands still would hold the others: it is told
 * that it fell behind.
 */
export class Broadcast {
  readonly #listeners = new Set<Listener>();
  readonly #source: Source;
  readonly #stallMs: number;
  #isPaused = false;

  constructor(source: Source, stallMs = STALL_MS) {
    this.#source = source;
    this.#stallMs = stallMs;
  }

  get size(): number {
    return this.#listeners.size;
  }

  listen(): Listener {
    const listener = new Listener(this.#stallMs, {
      onChange: () => this.#balance(),
      isAlone: () => this.#listeners.size === 1,
      onLeft: () => void this.#listeners.delete(listener),
    });
    this.#listeners.add(listener);
    return listener;
  }

  send(output: Output): void {
    for (const listener of this.#listeners) listener.add(output);
    this.#balance();
  }

  /** All are told once they have taken what came before. */
  end(end: End): void {
    for (const listener of this.#listeners) listener.end(end);
  }

  #balance(): void {
    const isFull = [...this.#listeners].some((listener) => listener.isFull);
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#source.pause();
    else this.#source.resume();
  }
}

interface ListenerOptions {
  readonly onChange: () => void;
  readonly isAlone: () => boolean;
  readonly onLeft: () => void;
}

/** One who listens. Closing it is what a client's leaving does. */
export class Listener implements Disposable {
  readonly #options: ListenerOptions;
  readonly #stallMs: number;
  readonly #held: Output[] = [];
  #heldBytes = 0;
  #takenBytes = 0;
  #end: End | undefined;
  #wake: () => void = () => undefined;
  #stall: NodeJS.Timeout | undefined;

  constructor(stallMs: number, options: ListenerOptions) {
    this.#stallMs = stallMs;
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#end === undefined && this.#heldBytes >= HELD_MAX_BYTES;
  }

  add(output: Output): void {
    if (this.#end) return;
    this.#held.push(output);
    this.#heldBytes += output.bytes.length;
    this.#wake();
    if (this.isFull) this.#watch();
  }

  end(end: End): void {
    this.#end ??= end;
    clearTimeout(this.#stall);
    this.#wake();
  }

  /** The next output; undefined at the end of the process, or when the signal aborts. Throws the error that it ended with. */
  async take(signal: AbortSignal): Promise<Output | ExecExit | undefined> {
    while (this.#held.length === 0 && !this.#end && !signal.aborted) await this.#wait(signal);
    if (signal.aborted) return undefined;
    const next = this.#held.shift();
    if (next) {
      this.#heldBytes -= next.bytes.length;
      this.#takenBytes += next.bytes.length;
      this.#options.onChange();
      return next;
    }
    if (this.#end && "error" in this.#end) throw this.#end.error;
    return this.#end?.exit;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#stall);
    this.#options.onLeft();
    this.#held.length = this.#heldBytes = 0;
    this.#options.onChange();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        this.#wake = () => undefined;
        resolve();
      };
      signal.addEventListener("abort", done, { once: true });
      this.#wake = done;
    });
  }

  #watch(): void {
    if (this.#stall) return;
    const takenBefore = this.#takenBytes;
    this.#stall = setTimeout(() => {
      this.#stall = undefined;
      if (!this.isFull) return;
      if (this.#takenBytes - takenBefore >= HELD_MAX_BYTES || this.#options.isAlone()) this.#watch();
      else this.#fallBehind();
    }, this.#stallMs).unref();
  }

  #fallBehind(): void {
    this.#held.length = this.#heldBytes = 0;
    this.end({
      error: new BelljarError("SERVER_BUSY", "The output was read too slowly while others waited for it; connect to the process again"),
    });
    this.#options.onLeft();
    this.#options.onChange();
  }
}
