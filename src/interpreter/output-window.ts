import { StringDecoder } from "node:string_decoder";

/**
 * Keeps the first and the last half of a stream in bounded memory: a model needs how it began and how it ended.
 * The text is valid UTF-8, and no character is split at the cut.
 */
export class OutputWindow {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #head: Buffer[] = [];
  #headSize = 0;
  #tail: Buffer[] = [];
  #tailSize = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#headBytes = Math.ceil(maxBytes / 2);
    this.#tailBytes = Math.floor(maxBytes / 2);
  }

  get truncated(): boolean {
    return this.#total > this.#headBytes + this.#tailBytes;
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#headBytes - this.#headSize;
    const first = chunk.subarray(0, room);
    // Copies: a small slice must not keep a large chunk alive.
    if (first.length > 0) this.#head.push(Buffer.from(first));
    this.#headSize += first.length;
    if (chunk.length > room) this.#pushTail(chunk.subarray(Math.max(room, 0)));
  }

  /** What was kept, with the cut marked on a line of its own. */
  text(): string {
    const tail = this.#lastBytes();
    if (!this.truncated) return Buffer.concat([...this.#head, tail]).toString("utf8");
    const head = new StringDecoder("utf8").write(Buffer.concat(this.#head));
    const end = skipContinuation(tail).toString("utf8");
    const cut = this.#total - Buffer.byteLength(head) - Buffer.byteLength(end);
    return `${head}\n[... ${Math.max(cut, 1)} bytes cut ...]\n${end}`;
  }

  #pushTail(chunk: Buffer): void {
    const last = Buffer.from(chunk.subarray(Math.max(0, chunk.length - this.#tailBytes)));
    this.#tail.push(last);
    this.#tailSize += last.length;
    // Joined only when twice as large as needed, so that each byte is copied a fixed number of times.
    if (this.#tailSize > 2 * this.#tailBytes || this.#tail.length > 1_024) {
      this.#tail = [this.#lastBytes()];
      this.#tailSize = this.#tail[0]?.length ?? 0;
    }
  }

  #lastBytes(): Buffer {
    const all = Buffer.concat(this.#tail);
    return Buffer.from(all.subarray(Math.max(0, all.length - this.#tailBytes)));
  }
}

/** Drops what is left of a character whose start was cut off. */
function skipContinuation(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
