import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Takes bytes in order. Their memory is reused after the call of `done`. */
export type TakeBytes = (bytes: Buffer, done: () => void) => void;

/** A read of at least this size counts as part of a download. The next read then gets memory of its own. */
const BULK_READ_BYTES = 32_768;
const BULK_BYTES = 131_072;
/** Maximum number of lent bytes. Beyond it, reading stops until some are returned. */
const LENT_MAX_BYTES = 2 * BULK_BYTES;

/** All sockets read into this buffer, one after another. Bytes that must last are copied before the next read. */
const SHARED = Buffer.allocUnsafeSlow(65_536);

const READS = new WeakMap<object, Reads>();

/** Starts a connection. It is an ordinary stream until its reads are lent. */
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
 * Redirects the bytes of the stream to `take`, without a new buffer for each read. Its end and its errors come as before. Returns false
 * for a stream that cannot lend its reads, or that holds unread bytes. These must be read as usual.
 */
export function lendReads(stream: Duplex, take: TakeBytes): boolean {
  const reads = READS.get(stream);
  if (!reads || stream.readableLength > 0) return false;
  reads.lendTo(take);
  return true;
}

/** The receiver and the memory of the bytes of one socket. */
class Reads {
  #take: TakeBytes | undefined;
  #memory: Buffer = SHARED;
  readonly #spare: Buffer[] = [];
  #lentBytes = 0;

  /** Memory for the next read. */
  get memory(): Buffer {
    return this.#memory;
  }

  lendTo(take: TakeBytes): void {
    this.#take = take;
  }

  /** Handles one read. Returns false if reading must stop until the socket is resumed. */
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
