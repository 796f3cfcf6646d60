/** The newest entries, each with a number that grows by one. */
export class Ring<Entry> {
  readonly #max: number;
  readonly #entries: Entry[] = [];
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many there were in all. */
  get count(): number {
    return this.#count;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#count++;
    if (this.#entries.length > this.#max) this.#entries.shift();
  }

  /** Those that came after the first `count`, as far as they are kept; the oldest first. */
  since(count: number): readonly Entry[] {
    const missed = this.#count - count;
    return missed <= 0 ? [] : this.#entries.slice(-missed);
  }

  get all(): readonly Entry[] {
    return this.#entries;
  }
}
