import { PassThrough } from "node:stream";
import type { Readable } from "node:stream";

/** One line of what a run answers. */
export type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

/** So often a client hears that the run goes on, and the server that the client is there. */
export const KEEPALIVE_MS = 5_000;

/**
 * What a run says, line by line. At most one write is ahead of the client: whoever writes waits for it. Nothing is sent before the first frame,
 * so that until then a failure can be an answer of its own.
 */
export class Frames {
  readonly #body = new PassThrough();
  readonly #timer: NodeJS.Timeout;
  /** Resolves with the first frame. */
  readonly begun: Promise<void>;
  #begin: () => void = () => undefined;
  #hasBegun = false;

  constructor(keepaliveMs = KEEPALIVE_MS) {
    this.begun = new Promise((resolve) => (this.#begin = resolve));
    this.#timer = setInterval(() => this.#beat(), keepaliveMs);
    // A client may go at any time.
    this.#body.on("error", () => undefined).once("close", () => clearInterval(this.#timer));
  }

  get body(): Readable {
    return this.#body;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Undefined: more may come at once. Else resolves when the client has read on, or has gone. Never rejects. */
  write(frame: Frame): Promise<void> | undefined {
    this.#hasBegun = true;
    this.#begin();
    if (this.#body.destroyed || this.#body.write(`${JSON.stringify(frame)}\n`)) return undefined;
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#body.off("drain", settle).off("close", settle);
        resolve();
      };
      this.#body.on("drain", settle).on("close", settle);
    });
  }

  /** The client learns that it goes on: it has a time limit of its own until then. */
  start(): void {
    if (!this.#hasBegun) void this.write({ type: "keepalive" });
  }

  end(): void {
    clearInterval(this.#timer);
    this.#body.end();
  }

  /** Cuts the answer, so that nobody takes it for whole. */
  cut(cause: Error): void {
    clearInterval(this.#timer);
    this.#body.destroy(cause);
  }

  #beat(): void {
    if (!this.#body.writableNeedDrain) void this.write({ type: "keepalive" });
  }
}
