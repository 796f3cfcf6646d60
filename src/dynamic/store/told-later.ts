/**
 * Collects keys, and tells each once after a moment. So a change of many files is looked at once, however many events it makes. The timer
 * does not keep the process alive.
 */
export class ToldLater {
  readonly #tell: (keys: readonly string[]) => void;
  readonly #delayMs: number;
  readonly #keys = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (keys: readonly string[]) => void, delayMs: number) {
    this.#tell = tell;
    this.#delayMs = delayMs;
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
    this.#tell(keys);
  }
}
