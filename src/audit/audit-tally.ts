type Fields = Readonly<Record<string, unknown>>;

interface Counted {
  readonly fields: Fields;
  readonly count: number;
  readonly first: Date;
  readonly last: Date;
}

const KEYS_MAX = 1_000;
const SUMS = ["sentBytes", "receivedBytes"] as const;

/** Counts events that are not written line by line. Its size is bounded: its owner writes the counts once it is full. */
export class AuditTally {
  readonly #counts = new Map<string, Counted>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  get isFull(): boolean {
    return this.#counts.size >= KEYS_MAX;
  }

  /** Returns true if the key is already counted. Otherwise starts to count it, and returns false. */
  knows(key: string, at: Date): boolean {
    if (this.#counts.has(key)) return true;
    this.#counts.set(key, { fields: {}, count: 0, first: at, last: at });
    return false;
  }

  /** `fields` may be a count itself, in its field `count`. */
  add(key: string, fields: Fields, at: Date): void {
    const before = this.#counts.get(key);
    const count = typeof fields["count"] === "number" ? fields["count"] : 1;
    if (!before || before.count === 0) this.#counts.set(key, { fields, count, first: at, last: at });
    else this.#counts.set(key, { fields: addSums(before.fields, fields), count: before.count + count, first: before.first, last: at });
  }

  /**
   * Returns the counts that began at `until` or earlier, and starts them again. Each has the fields of its last event, the number of
   * events, the times of the first and the last, and the sums of their bytes. A key without events is forgotten.
   */
  take(until: Date): readonly Fields[] {
    const due = [...this.#counts].filter(([, { first }]) => first <= until);
    for (const [key, counted] of due) {
      if (counted.count === 0) this.#counts.delete(key);
      else this.#counts.set(key, { ...counted, fields: {}, count: 0, first: counted.last });
    }
    return due
      .filter(([, { count }]) => count > 0)
      .map(([, { fields, count, first, last }]) => ({ ...fields, count, first: first.toISOString(), last: last.toISOString() }));
  }
}

function addSums(before: Fields, after: Fields): Fields {
  const sums = SUMS.flatMap((name) => {
    const [one, other] = [before[name], after[name]];
    return typeof one === "number" && typeof other === "number" ? [[name, one + other] as const] : [];
  });
  return { ...after, ...Object.fromEntries(sums) };
}
