import { OutputWindow } from "../../interpreter/output-window.ts";

/**
 * One output stream of a shell, cut where a command ends. The fence is told to the shell only when the command is over, so nothing
 * that the command printed can stand for it. What comes between two commands belongs to the next one.
 */
export class FencedOutput {
  readonly #maxBytes: number;
  #window: OutputWindow;
  #finished: OutputWindow | undefined;
  #fence: { readonly mark: Buffer; readonly found: () => void } | undefined;
  /** The end of what came, which may be the beginning of the mark. */
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
      const end = Math.max(0, bytes.length - mark.length + 1);
      this.#held = Buffer.from(bytes.subarray(end));
      return this.#keep(bytes.subarray(0, end));
    }
    this.#keep(bytes.subarray(0, at));
    this.#finish();
    this.#keep(bytes.subarray(at + mark.length));
    return found();
  }

  /** Resolves when the mark has come. */
  until(mark: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#fence = { mark, found: resolve };
    });
  }

  /** What came before the mark, or so far when none has come. */
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

  #keep(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#window.push(chunk);
    this.onOutput?.(chunk);
  }
}
