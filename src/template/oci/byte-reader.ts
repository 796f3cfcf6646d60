/** Takes exact numbers of bytes from chunks of any size. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  /** Returns `count` bytes, or fewer if there are no more. They stay valid. */
  async take(count: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let missing = count; missing > 0;) {
      if (this.#rest.length === 0 && !(await this.#next())) break;
      const piece = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(piece.length);
      missing -= piece.length;
      pieces.push(piece);
    }
    const [only] = pieces;
    return pieces.length === 1 && only ? only : Buffer.concat(pieces);
  }

  /** Returns the number of bytes that were there to skip. */
  async skip(count: number): Promise<number> {
    let missing = count;
    while (missing > 0) {
      if (this.#rest.length === 0 && !(await this.#next())) break;
      const skipped = Math.min(missing, this.#rest.length);
      this.#rest = this.#rest.subarray(skipped);
      missing -= skipped;
    }
    return count - missing;
  }

  /** Ends the chunks early. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #next(): Promise<boolean> {
    const next = await this.#chunks.next();
    if (next.done === true) return false;
    this.#rest = next.value;
    return true;
  }
}
