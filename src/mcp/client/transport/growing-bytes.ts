const FIRST_BYTES = 4096;

/**
 * Bytes that came in pieces. However small the pieces are, the work is in proportion to the bytes, and the memory is at most twice as many:
 * a piece that is kept as an object of its own, or copied again for each piece after it, would let a sender of single bytes choose the cost.
 */
export class GrowingBytes {
  #space = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#space.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, 2 * length));
      larger.set(this.#space.subarray(0, this.#length));
      this.#space = larger;
    }
    this.#space.set(piece, this.#length);
    this.#length = length;
  }

  /** All bytes. Nothing of them is kept. */
  take(): Buffer {
    const taken = this.#space.subarray(0, this.#length);
    this.clear();
    return taken;
  }

  clear(): void {
    this.#space = Buffer.alloc(0);
    this.#length = 0;
  }
}
