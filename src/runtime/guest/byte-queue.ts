/** Smaller payloads are gathered into blocks, so that a thousand small frames do not hold a thousand buffers. */
const GATHER_BELOW_BYTES = 2_048;
const BLOCK_BYTES = 16_384;

/** A queue of bytes. Its memory stays proportional to the bytes that it holds, however small the appended pieces are. */
export class ByteQueue {
  readonly #chunks: Buffer[] = [];
  #block: Buffer | undefined;
  #blockFill = 0;
  #byteLength = 0;

  get byteLength(): number {
    return this.#byteLength;
  }

  append(bytes: Buffer): void {
    this.#byteLength += bytes.length;
    if (bytes.length >= GATHER_BELOW_BYTES) {
      this.#seal();
      this.#chunks.push(bytes);
    } else this.#gather(bytes);
  }

  #gather(bytes: Buffer): void {
    if (this.#block && this.#block.length - this.#blockFill < bytes.length) this.#seal();
    this.#block ??= Buffer.allocUnsafe(this.#byteLength <= GATHER_BELOW_BYTES ? GATHER_BELOW_BYTES : BLOCK_BYTES);
    this.#block.set(bytes, this.#blockFill);
    this.#blockFill += bytes.length;
  }

  #seal(): void {
    if (this.#block) this.#chunks.push(this.#block.subarray(0, this.#blockFill));
    this.#block = undefined;
    this.#blockFill = 0;
  }

  /** Takes the next bytes. The queue chooses how many. */
  shift(): Buffer | undefined {
    if (this.#chunks.length === 0) this.#seal();
    const chunk = this.#chunks.shift();
    this.#byteLength -= chunk?.length ?? 0;
    return chunk;
  }

  /** Takes all bytes, in one buffer. */
  takeAll(): Buffer {
    this.#seal();
    this.#byteLength = 0;
    const chunks = this.#chunks.splice(0);
    return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  }
}
