import { Duplex } from "node:stream";

/**
 * Two ends of one in-memory stream, with back-pressure. When one end is destroyed, the other ends too, as with a socket.
 * Nothing reaches the other end within the call that wrote it: a reader never finds itself inside its own write.
 */
export function createDuplexPair(): readonly [Duplex, Duplex] {
  const left = new End();
  const right = new End();
  left.peer = right;
  right.peer = left;
  return [left.stream, right.stream];
}

class End {
  peer: End | undefined;
  readonly stream: Duplex;
  /** What the other end wrote and this one did not yet ask for. */
  #offered: { readonly chunk: Buffer | null; readonly taken: () => void } | undefined;
  #wantsMore = false;

  constructor() {
    this.stream = new Duplex({
      allowHalfOpen: true,
      read: () => {
        this.#wantsMore = true;
        this.#take();
      },
      write: (chunk: Buffer, _encoding, done) => this.#send(chunk, done),
      final: (done) => this.#send(null, done),
      destroy: (error, done) => {
        this.#take();
        process.nextTick(() => this.peer?.hangUp());
        done(error);
      },
    });
  }

  #send(chunk: Buffer | null, done: () => void): void {
    process.nextTick(() => {
      if (!this.peer || this.peer.stream.destroyed) done();
      else this.peer.#offer(chunk, done);
    });
  }

  #offer(chunk: Buffer | null, taken: () => void): void {
    this.#offered = { chunk, taken };
    if (chunk === null || this.#wantsMore) this.#take();
  }

  #take(): void {
    const offered = this.#offered;
    this.#offered = undefined;
    if (!offered) return;
    this.#wantsMore = false;
    if (!this.stream.destroyed) this.stream.push(offered.chunk);
    process.nextTick(offered.taken);
  }

  /** What was written before the other end went is still read. */
  hangUp(): void {
    this.#take();
    if (!this.stream.destroyed && !this.stream.readableEnded) this.stream.push(null);
    this.stream.end();
  }
}
