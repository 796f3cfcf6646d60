import { Duplex, type DuplexOptions } from "node:stream";
import type { BelljarError } from "../../errors.ts";
import { ReceiveWindow, SendWindow } from "../../protocol/credit.ts";
import { malformed } from "../../protocol/fields.ts";
import { GUEST_CREDIT_BYTES, HOST_CREDIT_BYTES } from "../../protocol/wire.ts";
import { ByteQueue } from "./byte-queue.ts";
import { ignore, type Operation, type Written } from "./operation.ts";

export interface ChannelOptions {
  readonly readable: boolean;
  readonly writable: boolean;
  /** Bytes of its window that an earlier stream has used. Default 0. */
  readonly usedBytes?: number;
  /** Called once, when all received bytes were taken, or when the stream is destroyed. */
  readonly onDrained?: () => void;
  /** Called when the stream is destroyed. */
  readonly onDestroyed?: () => void;
}

/**
 * One channel of a multiplexed operation as a Node stream. Received bytes wait in a queue that the channel's window bounds. Credit goes
 * back as the consumer takes bytes, so an unread channel stops only its own sender.
 */
export class Channel {
  readonly stream: Duplex;
  readonly #id: number;
  readonly #operation: Operation;
  readonly #options: ChannelOptions;
  readonly #queue = new ByteQueue();
  readonly #received = new ReceiveWindow(GUEST_CREDIT_BYTES);
  readonly #sent = new SendWindow(HOST_CREDIT_BYTES);
  #pushed = 0;
  #wantsMore = false;
  #endCame = false;
  #endPushed = false;
  #endSent = false;
  #error: BelljarError | undefined;
  #isDrained = false;
  #isDestroyed = false;
  #isDeaf = false;
  #pending: { readonly bytes: Buffer; readonly done: Written } | undefined;

  constructor(operation: Operation, id: number, options: ChannelOptions) {
    this.#operation = operation;
    this.#id = id;
    this.#options = options;
    this.#isDrained = !options.readable;
    this.#sent.take(options.usedBytes ?? 0);
    const duplex: DuplexOptions & Pick<ChannelOptions, "readable" | "writable"> = {
      readable: options.readable,
      writable: options.writable,
      readableHighWaterMark: 1,
      writableHighWaterMark: HOST_CREDIT_BYTES,
      read: () => this.#read(),
      write: (chunk: Buffer, _encoding, done) => this.#write(chunk, done),
      final: (done) => this.#final(done),
      destroy: (error, done) => this.#destroy(error, done),
    };
    this.stream = new Duplex(duplex);
    // A failed operation destroys all its streams with the error. A stream without an error listener must not crash the process.
    this.stream.on("error", ignore);
  }

  get isDrained(): boolean {
    return this.#isDrained;
  }

  /** True while received bytes wait for the consumer. */
  get isUnread(): boolean {
    return this.#queue.byteLength > 0 || this.stream.readableLength > 0;
  }

  /** True once both sides have ended the channel. */
  get isOver(): boolean {
    return this.#endCame && this.#endSent;
  }

  /** Throws `GUEST_PROTOCOL` if the channel is not readable, has ended, or has no credit left. */
  receive(payload: Buffer): void {
    if (!this.#options.readable || this.#endCame) throw malformed(`data on channel ${this.#id}, which is closed`);
    this.#received.receive(payload.length);
    if (payload.length === 0) return;
    if (this.#isDestroyed) return this.#grant(payload.length);
    if (this.#wantsMore && this.#queue.byteLength === 0) return this.#push(payload);
    return this.#queue.append(payload);
  }

  receiveEnd(): void {
    this.#endCame = true;
    if (this.#options.readable && this.#queue.byteLength === 0 && (this.#wantsMore || this.stream.readableLength === 0)) this.#pushEnd();
  }

  receiveCredit(bytes: number): void {
    this.#sent.grant(bytes);
    this.#flush();
  }

  /** Nothing inside reads the channel any more. Bytes that are still written are dropped. */
  stopWriting(): void {
    this.#isDeaf = true;
    this.#flush();
    if (!this.#options.readable) this.stream.destroy();
    else if (this.#options.writable) this.stream.end();
  }

  fail(error: BelljarError): void {
    this.stream.destroy(error);
  }

  /** Fails the stream once all received bytes are taken, or at once if bytes wait to be written. Later writes fail too. */
  failAfterRead(error: BelljarError): void {
    const isAllTaken = this.#queue.byteLength === 0 && this.stream.readableLength === 0;
    if (isAllTaken || this.#pending || this.stream.writableLength > 0) return this.fail(error);
    this.#error = error;
  }

  /** The high-water mark is one byte, so Node calls this only when all pushed bytes are taken. */
  #read(): void {
    this.#wantsMore = true;
    this.#settlePushed();
    while (this.#wantsMore && this.#queue.byteLength > 0) this.#push(this.#queue.shift() ?? Buffer.alloc(0));
    if (this.#queue.byteLength > 0) return;
    if (this.#endCame) this.#pushEnd();
    else if (this.#error) this.stream.destroy(this.#error);
  }

  #push(bytes: Buffer): void {
    this.#pushed += bytes.length;
    this.#wantsMore = false;
    const wantsMore = this.stream.push(bytes);
    if (this.stream.readableLength > 0) return;
    this.#wantsMore = wantsMore;
    this.#settlePushed();
  }

  #settlePushed(): void {
    const bytes = this.#pushed;
    this.#pushed = 0;
    if (bytes > 0) this.#grant(bytes);
  }

  #grant(bytes: number): void {
    this.#operation.credit(this.#id, this.#received.take(bytes));
  }

  #pushEnd(): void {
    if (this.#endPushed) return;
    this.#endPushed = true;
    this.stream.push(null);
    this.#drained();
  }

  #drained(): void {
    if (this.#isDrained) return;
    this.#isDrained = true;
    this.#options.onDrained?.();
  }

  #write(bytes: Buffer, done: Written): void {
    if (this.#error) return done(this.#error);
    this.#pending = { bytes, done };
    this.#flush();
  }

  #flush(): void {
    while (this.#pending) {
      const { bytes, done } = this.#pending;
      if (this.#isDeaf) return this.#settleWrite(done);
      const size = this.#sent.take(bytes.length);
      if (size === 0 && bytes.length > 0) return;
      this.#pending = size < bytes.length ? { bytes: bytes.subarray(size), done } : undefined;
      this.#operation.data(this.#id, bytes.subarray(0, size), this.#pending ? undefined : done);
    }
  }

  #settleWrite(done: Written): void {
    this.#pending = undefined;
    done();
  }

  #final(done: Written): void {
    this.#endSent = true;
    if (this.#isDeaf || this.#error) done();
    else this.#operation.end(this.#id, done);
  }

  #destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#isDestroyed = true;
    const unread = this.#pushed + this.#queue.takeAll().length;
    this.#pushed = 0;
    if (unread > 0) this.#grant(unread);
    this.#pending = undefined;
    this.#drained();
    this.#options.onDestroyed?.();
    done(error);
  }
}
