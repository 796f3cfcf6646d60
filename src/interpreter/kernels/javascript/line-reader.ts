import { Buffer } from "node:buffer";

const NEWLINE = 10;

/** Cuts a stream of bytes into lines. A line over the bound is skipped, and not kept meanwhile. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number, onLine: (line: string) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#end();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #end(): void {
    const line = this.#bytes > this.#maxBytes ? "" : Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    this.#bytes = 0;
    if (line !== "") this.#onLine(line);
  }
}
