import type { Duplex } from "node:stream";
import type { BelljarError } from "../../errors.ts";
import { malformed, type Field } from "../../protocol/fields.ts";
import { encodeFrame, encodeFrameHeader, encodeNumberFrame, FrameDecoder } from "../../protocol/frames.ts";
import { encodeHead } from "../../protocol/head.ts";
import { FRAME, PAYLOAD_MAX_BYTES } from "../../protocol/wire.ts";
import { asBelljarError, cancelled, guestError, type RunEnd, sandboxEnded, unresponsive } from "./guest-errors.ts";
import type { SandboxLink } from "./sandbox-link.ts";
import { Patience } from "./patience.ts";

/** A payload up to this size is copied into one buffer with its header. A larger payload is written after its header. */
const COPY_MAX_BYTES = 2_048;

/** Time that a stream gets to bring what the guest wrote before the sandbox's end. */
const LAST_WORDS_MS = 2_000;

export type Written = (error?: Error) => void;

export interface Request {
  readonly operation: number;
  readonly fields: readonly Field[];
  /** Frames that are sent with the head, in one write. */
  readonly frames?: readonly Uint8Array[];
}

export interface FrameHandler {
  /** Called once, before any other method. */
  opened(operation: Operation): void;
  /** Called for every frame but ERROR. If it throws, the operation fails with that error. */
  frame(type: number, channel: number, payload: Buffer): void;
  /** Called at most once, and never after `close`. */
  failed(error: BelljarError): void;
  /** Called when the guest closes the stream. Returns true if this is the proper end of the operation, and no failure. */
  isOver?(): boolean;
  /** Called once, when the operation has destroyed its stream. */
  closed?(): void;
  /** Returns true while the guest waits for the host, so that its silence is no failure. */
  isOurTurn?(): boolean;
}

/**
 * One operation on its own stream. It ends with its last frame, an abort, a fault, a long silence or the sandbox's end. Each end destroys
 * the stream, and leaves no listener on the signal or the link.
 */
export class Operation {
  readonly #link: SandboxLink;
  readonly #stream: Duplex;
  readonly #handler: FrameHandler;
  readonly #signal: AbortSignal;
  readonly #decoder: FrameDecoder;
  readonly #forgetEnd: () => void;
  readonly #patience: Patience;
  #isOpen = true;
  #cause: unknown;
  #lastWords: NodeJS.Timeout | undefined;

  constructor({ link, stream, handler, request, signal }: OperationOptions) {
    this.#link = link;
    this.#stream = stream;
    this.#handler = handler;
    this.#signal = signal;
    this.#patience = new Patience({
      ...request,
      answerMs: link.answerMs,
      isOurTurn: () => stream.isPaused() || (handler.isOurTurn?.() ?? false),
      isPaused: () => link.isPaused(),
      standsStill: () => link.standsStill(),
      findLife: () => link.findLife(),
      onSilent: () => this.#silent(),
    });
    this.#decoder = new FrameDecoder((type, channel, payload) => this.#receive(type, channel, payload));
    this.#forgetEnd = link.onEnd((end) => this.#sandboxEnded(end));
    signal.addEventListener("abort", this.#onAbort);
    stream.on("data", this.#onData).on("end", this.#onGone).on("close", this.#onGone).on("error", this.#onError);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Uses the transport's back-pressure, for operations without credit. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#patience.renew();
    this.#stream.resume();
  }

  /** If the transport breaks while the operation is open, `done` gets a `BelljarError`: the sandbox's end, if that is the cause. */
  write(bytes: Uint8Array, done?: Written): void {
    this.#patience.renew();
    if (!this.#isOpen) done?.();
    else this.#stream.write(bytes, done && ((cause) => (cause && this.#isOpen ? void this.#broken(cause, done) : done())));
  }

  async #broken(cause: Error, done: Written): Promise<void> {
    const error = await this.#link.explain(cause);
    done(this.#isOpen ? error : undefined);
  }

  /** Sends the payload as frames, in one write. Calls `done` when the transport has taken it, or at once if the operation is over. */
  data(channel: number, payload: Uint8Array, done?: Written): void {
    if (payload.length <= COPY_MAX_BYTES) return this.write(encodeFrame(FRAME.DATA, channel, payload), done);
    this.#stream.cork();
    for (let at = 0; at < payload.length; at += PAYLOAD_MAX_BYTES) {
      const part = payload.subarray(at, at + PAYLOAD_MAX_BYTES);
      this.write(encodeFrameHeader(FRAME.DATA, channel, part.length));
      this.write(part, at + part.length === payload.length ? done : undefined);
    }
    this.#stream.uncork();
  }

  end(channel: number, done?: Written): void {
    this.write(encodeFrame(FRAME.END, channel), done);
  }

  credit(channel: number, bytes: number): void {
    if (bytes > 0) this.write(encodeNumberFrame(FRAME.CREDIT, channel, bytes));
  }

  /** Ends the operation without calling `failed`. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#patience.stop();
    this.#decoder.stop();
    this.#forgetEnd();
    clearTimeout(this.#lastWords);
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#stream.off("data", this.#onData).off("end", this.#onGone).off("close", this.#onGone);
    this.#stream.destroy();
    this.#handler.closed?.();
  }

  #silent(): void {
    this.#link.heard(true);
    this.fail(unresponsive());
  }

  fail(error: BelljarError): void {
    if (!this.#isOpen) return;
    this.close();
    this.#handler.failed(error);
  }

  /** The news of the end can overtake the last frames. They are in the stream, which ends by itself: `#onGone` fails the operation then. */
  #sandboxEnded(end: RunEnd): void {
    this.#lastWords = setTimeout(() => this.fail(sandboxEnded(end)), LAST_WORDS_MS);
  }

  #receive(type: number, channel: number, payload: Buffer): void {
    this.#patience.heard();
    this.#link.heard();
    if (type === FRAME.ERROR) this.fail(guestError(payload));
    else this.#handler.frame(type, channel, payload);
  }

  readonly #onData = (chunk: Buffer): void => {
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      this.fail(asBelljarError(error));
    }
  };

  readonly #onAbort = (): void => this.fail(cancelled(this.#signal));

  /** Stays on the stream after the operation's end, because a late transport error without a listener would crash the process. */
  readonly #onError = (cause: unknown): void => {
    this.#cause = cause;
  };

  readonly #onGone = (): void => {
    this.#stream.off("end", this.#onGone).off("close", this.#onGone);
    if (this.#handler.isOver?.()) return this.close();
    void this.#link.explain(this.#cause).then((error) => this.fail(error));
  };
}

interface OperationOptions {
  readonly link: SandboxLink;
  readonly stream: Duplex;
  readonly handler: FrameHandler;
  readonly request: Request;
  readonly signal: AbortSignal;
}

/** Connects, sends the request in one write, and hands all frames to `handler`. Rejects only if the request cannot be encoded or sent. */
export async function openOperation(link: SandboxLink, request: Request, handler: FrameHandler, signal: AbortSignal): Promise<void> {
  const fields = link.secret === undefined ? request.fields : [["SECRET", link.secret] as const, ...request.fields];
  const head = encodeHead(request.operation, fields);
  const stream = await link.connect(signal, request.operation);
  if (signal.aborted) {
    stream.on("error", ignore).destroy();
    throw cancelled(signal);
  }
  const operation = new Operation({ link, stream, handler, request, signal });
  handler.opened(operation);
  operation.write(request.frames ? Buffer.concat([head, ...request.frames]) : head);
}

/** Does nothing. It handles late errors of streams that were destroyed on purpose. */
export function ignore(): void {}

export function unexpected(type: number): BelljarError {
  return malformed(`a frame of type ${type} out of turn`);
}
