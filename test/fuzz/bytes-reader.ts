/** Takes an input apart as choices and pieces of text; past its end all choices are 0. */
export class BytesReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  below(limit: number): number {
    return this.byte() % limit;
  }

  text(): string {
    const length = this.byte();
    const text = this.#bytes.toString("utf8", this.#at, this.#at + length);
    this.#at += length;
    return text;
  }

  number(): number {
    const [kind, value] = [this.below(8), this.byte() * 256 + this.byte()];
    return [value, -value, value / 7, value * 2 ** 40, 1e300, 0, Number.MAX_SAFE_INTEGER, value % 3][kind] ?? 0;
  }
}
