/** Of what stands behind a mark: a blank and five digits. */
const STATUS_LENGTH = 6;

/** A stream in which a mark stands behind what belongs together. Holds back only what may be the beginning of the mark. */
export class MarkedOutput {
  readonly #mark: Buffer;
  readonly #take: (chunk: Buffer) => void;
  #held: Buffer = Buffer.alloc(0);
  #status: number | undefined;

  constructor(mark: string, take: (chunk: Buffer) => void) {
    this.#mark = Buffer.from(mark);
    this.#take = take;
  }

  /** The number behind the mark, once that was there. */
  get status(): number | undefined {
    return this.#status;
  }

  /** What comes after the mark is nobody's. */
  push(chunk: Buffer): void {
    if (this.#status !== undefined) return;
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const at = all.indexOf(this.#mark);
    const end = at + this.#mark.length + STATUS_LENGTH;
    if (at !== -1 && all.length >= end) this.#status = Number(all.subarray(end - STATUS_LENGTH + 1, end).toString("latin1")) || 0;
    const ready = at === -1 ? all.length - this.#begun(all) : at;
    this.#held = all.subarray(ready);
    if (ready > 0) this.#take(all.subarray(0, ready));
  }

  /** How many bytes at the end may be the beginning of the mark. What cannot be is given at once: somebody may wait for it. */
  #begun(all: Buffer): number {
    let length = Math.min(all.length, this.#mark.length - 1);
    while (length > 0 && !all.subarray(all.length - length).equals(this.#mark.subarray(0, length))) length -= 1;
    return length;
  }
}
