import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Takes bytes in order. Their memory is used again once `done` was called. */
export type TakeBytes = (bytes: Buffer, done: () => void) => void;

/** A read of at least so much is a download's: it gets memory of its own, as long as more such reads follow. */
const BULK_READ_BYTES = 32_768;
const BULK_BYTES = 131_072;
/** Bytes that were lent and are not back: nothing more is read beyond. */
const LENT_MAX_BYTES = 2 * BULK_BYTES;

/** All sockets read into it, one after another: what is to stay is copied before the next read. */
const SHARED = Buffer.allocUnsafeSlow(65_536);

const READS = new WeakMap<object, Reads>();

/** A connection that starts. A stream like any other, until its reads are lent. */
export function connectToOrigin(host: string, port: number): Socket {
  const reads = new Reads();
  const socket: Socket = connect({
    host,
    port,
    allowHalfOpen: true,
    noDelay: true,
    onread: { buffer: () => reads.memory, callback: (length) => reads.came(socket, length) },
  });
  READS.set(socket, reads);
  return socket;
}

/**
 * From now on the stream gives no bytes: `take` gets them, without a new buffer for each read. Its end and its errors come as before.
 * False for a stream that cannot, or where bytes wait that were read already: these must be read as usual.
 */
export function lendReads(stream: Duplex, take: TakeBytes): boolean {
  const reads = READS.get(stream);
  if (!reads || stream.readableLength > 0) return false;
  reads.lendTo(take);
  return true;
}

/** Where the bytes of one socket go, and the memory that they lie in. */
class Reads {
  #take: TakeBytes | undefined;
  #memory: Buffer = SHARED;
  readonly #spare: Buffer[] = [];
  #lentBytes = 0;

  /** For the next read. */
  get memory(): Buffer {
    return this.#memory;
  }

  lendTo(take: TakeBytes): void {
    this.#take = take;
  }

  /** False: nothing more is read until the socket is resumed. */
  came(socket: Socket, length: number): boolean {
    const bytes = this.#memory.subarray(0, length);
    if (!this.#take) return socket.push(Buffer.from(bytes));
    const isLent = this.#memory !== SHARED && length >= BULK_READ_BYTES;
    this.#lend(socket, isLent ? bytes : Buffer.from(bytes), isLent ? this.#memory : undefined);
    this.#memory = length < BULK_READ_BYTES ? SHARED : (this.#spare.pop() ?? Buffer.allocUnsafeSlow(BULK_BYTES));
    return this.#lentBytes < LENT_MAX_BYTES;
  }

  #lend(socket: Socket, bytes: Buffer, memory: Buffer | undefined): void {
    this.#lentBytes += bytes.length;
    this.#take?.(bytes, () => {
      this.#lentBytes -= bytes.length;
      if (memory) this.#spare.push(memory);
      if (this.#lentBytes < LENT_MAX_BYTES) socket.resume();
    });
  }
}
