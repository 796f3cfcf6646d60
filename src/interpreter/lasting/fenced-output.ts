import { OutputWindow } from "../output-window.ts";

/**
 * One output stream of a shell, cut at a random mark after each command. The shell learns the mark only when the command is over, so the
 * command cannot print it. Output between two commands belongs to the next command.
 */
export class FencedOutput {
  readonly #maxBytes: number;
  #window: OutputWindow;
  #finished: OutputWindow | undefined;
  #fence: { readonly mark: Buffer; readonly found: () => void } | undefined;
  /** The last received bytes, which may be the beginning of the mark. */
  #held: Buffer = Buffer.alloc(0);
  onOutput: ((chunk: Buffer) => void) | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#window = new OutputWindow(maxBytes);
  }

  push(chunk: Buffer): void {
    if (!this.#fence) return this.#keep(chunk);
    const bytes = Buffer.concat([this.#held, chunk]);
    const { mark, found } = this.#fence;
    const at = bytes.indexOf(mark);
    if (at < 0) {
      const end = bytes.length - beginningAtEnd(bytes, mark);
      this.#held = Buffer.from(bytes.subarray(end));
      return this.#keep(bytes.subarray(0, end));
    }
    this.#keep(bytes.subarray(0, at));
    this.#finish();
    this.#keep(bytes.subarray(at + mark.length));
    return found();
  }

  /** Output that came in another way. It may come after the mark, and belongs before it. */
  insert(bytes: Buffer): void {
    this.#keep(bytes, this.#finished);
  }

  /** Resolves when the mark has been received. */
  until(mark: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#fence = { mark, found: resolve };
    });
  }

  /** Takes the output before the mark, or all output so far if no mark was received. */
  take(): OutputWindow {
    if (!this.#finished) {
      this.#keep(this.#held);
      this.#finish();
    }
    const finished = this.#finished ?? this.#window;
    this.#finished = undefined;
    return finished;
  }

  #finish(): void {
    this.#finished = this.#window;
    this.#window = new OutputWindow(this.#maxBytes);
    this.#fence = undefined;
    this.#held = Buffer.alloc(0);
  }

  #keep(chunk: Buffer, window = this.#window): void {
    if (chunk.length === 0) return;
    window.push(chunk);
    this.onOutput?.(chunk);
  }
}

/** How many bytes at the end may be the beginning of the mark. */
function beginningAtEnd(bytes: Buffer, mark: Buffer): number {
  let length = Math.min(bytes.length, mark.length - 1);
  while (length > 0 && !bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) length -= 1;
  return length;
}
