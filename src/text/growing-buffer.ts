const LEAST_BYTES = 1_024;

/** Collects pieces of bytes in one buffer. A million pieces of one byte take little more memory than their bytes. */
export class GrowingBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) this.#grow(Math.max(needed, 2 * this.#bytes.length, LEAST_BYTES));
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  /** Returns all bytes. The caller must not change them. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Returns all bytes, and empties the buffer. */
  take(): Buffer {
    const taken = this.view();
    this.clear();
    return taken;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }

  #grow(capacity: number): void {
    const bytes = Buffer.allocUnsafeSlow(capacity);
    this.#bytes.copy(bytes, 0, 0, this.#length);
    this.#bytes = bytes;
  }
}
