export interface ToldLaterOptions {
  readonly delayMs: number;
  readonly failed: (cause: unknown) => void;
}

/**
 * Collects keys, and tells each once after a moment. So a change of many files is looked at once, however many events it makes. The timer
 * does not keep the process alive.
 */
export class ToldLater {
  readonly #tell: (keys: readonly string[]) => void;
  readonly #delayMs: number;
  readonly #failed: (cause: unknown) => void;
  readonly #keys = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** `failed`: what `tell` has thrown, which nobody else would hear of. */
  constructor(tell: (keys: readonly string[]) => void, { delayMs, failed }: ToldLaterOptions) {
    this.#tell = tell;
    this.#delayMs = delayMs;
    this.#failed = failed;
  }

  add(key: string): void {
    this.#keys.add(key);
    this.#timer ??= setTimeout(() => this.#ring(), this.#delayMs).unref();
  }

  /** What was not told yet is forgotten. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#keys.clear();
  }

  #ring(): void {
    this.#timer = undefined;
    const keys = [...this.#keys];
    this.#keys.clear();
    try {
      this.#tell(keys);
    } catch (cause) {
      this.#failed(cause);
    }
  }
}
