import type { Duplex } from "node:stream";
import type { BelljarError } from "../../errors.ts";
import { Fields, type Field, malformed } from "../../protocol/fields.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { Channel } from "./channel.ts";
import type { Link } from "./link.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

/** Opens a TCP connection to a port inside. */
export async function dial(link: Link, port: number, signal: AbortSignal): Promise<Duplex> {
  return (await openSocket(link, OPERATION.DIAL, [["PORT", port]], signal)).stream;
}

export interface OpenSocket {
  readonly stream: Duplex;
  readonly fields: Fields;
  /** Resolves when the guest has given all bytes to the program, or when either side has broken off the connection. */
  readonly closed: Promise<void>;
}

/** Resolves when STARTED comes. The signal applies to the socket's whole life. */
export async function openSocket(link: Link, operation: number, fields: readonly Field[], signal: AbortSignal): Promise<OpenSocket> {
  const session = new SocketSession();
  await openOperation(link, { operation, fields }, session, signal);
  return session.started;
}

/** DIAL and ACCEPT: STARTED, then one duplex channel. */
class SocketSession implements FrameHandler {
  readonly started: Promise<OpenSocket>;
  readonly #closed: Promise<void>;
  #settle: { readonly resolve: (socket: OpenSocket) => void; readonly reject: (error: Error) => void } | undefined;
  #settleClosed: () => void = ignore;
  #channel: Channel | undefined;
  #isStarted = false;

  constructor() {
    this.started = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
  }

  opened(operation: Operation): void {
    const channel = new Channel(operation, 0, {
      readable: true,
      writable: true,
      // After a proper end, the last bytes may still wait in the guest. It closes the stream once the program has them.
      onDestroyed: () => (channel.isOver ? undefined : operation.close()),
    });
    this.#channel = channel;
  }

  isOver(): boolean {
    return this.#channel?.isOver ?? false;
  }

  isOurTurn(): boolean {
    return this.#channel?.isUnread ?? false;
  }

  closed(): void {
    this.#settleClosed();
  }

  frame(type: number, id: number, payload: Buffer): void {
    const channel = this.#channel;
    if (!channel || id !== 0) throw malformed(`a frame on channel ${id}, which was not asked for`);
    if (type === FRAME.STARTED && !this.#isStarted) return this.#start(channel, Fields.parse(payload));
    if (!this.#isStarted) throw unexpected(type);
    if (type === FRAME.DATA) channel.receive(payload);
    else if (type === FRAME.END) channel.receiveEnd();
    else if (type === FRAME.CREDIT) channel.receiveCredit(payload.readUInt32BE());
    else throw unexpected(type);
  }

  #start(channel: Channel, fields: Fields): void {
    this.#isStarted = true;
    this.#settle?.resolve({ stream: channel.stream, fields, closed: this.#closed });
  }

  failed(error: BelljarError): void {
    // Bytes that the program sent before it reset its connection are valid, and can still be read.
    if (error.code === "NETWORK_FAILED") this.#channel?.failAfterRead(error);
    else this.#channel?.fail(error);
    this.#settle?.reject(error);
  }
}
