import { BelljarError } from "../../errors.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { unresponsive } from "./guest-errors.ts";
import type { Still } from "./guest.ts";
import type { Link } from "./link.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

/** An honest guest answers within five seconds, and says so when it could not stop everything. */
const ANSWER_MS = 10_000;

/** Resolves once everything in the sandbox stands still. */
export async function standStill(link: Link, signal: AbortSignal): Promise<Still> {
  const stream = new StillStream(Math.min(ANSWER_MS, link.answerMs));
  await openOperation(link, { operation: OPERATION.STILL, fields: [] }, stream, signal);
  return stream.started;
}

type Phase = "asked" | "stands" | "ending" | "over";

/** The host's side of one STILL. Its end, whatever the reason, lets the sandbox go on. */
class StillStream implements FrameHandler, Still {
  readonly started: Promise<Still>;
  #settleStarted: Settle<Still> = NOBODY;
  #settleEnded: Settle<number> = NOBODY;
  #operation: Operation | undefined;
  #phase: Phase = "asked";
  #timer: NodeJS.Timeout | undefined;
  #since = 0;
  #stoodMs: Promise<number> | undefined;
  #error: BelljarError | undefined;

  readonly #answerMs: number;

  constructor(answerMs: number) {
    this.#answerMs = answerMs;
    this.started = new Promise((resolve, reject) => {
      this.#settleStarted = { resolve, reject };
    });
  }

  get since(): number {
    return this.#since;
  }

  opened(operation: Operation): void {
    this.#operation = operation;
    this.#await();
  }

  frame(type: number): void {
    if (type === FRAME.STARTED && this.#phase === "asked") this.#stands();
    else if (type === FRAME.REPLY && this.#phase === "ending") this.#over();
    else throw unexpected(type);
  }

  failed(error: BelljarError): void {
    this.#phase = "over";
    this.#error = error;
    this.#settleStarted.reject(error);
    this.#settleEnded.reject(tooEarly(error));
  }

  closed(): void {
    clearTimeout(this.#timer);
  }

  end(): Promise<number> {
    this.#stoodMs ??= this.#end();
    return this.#stoodMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#phase = "over";
    this.#operation?.close();
  }

  #end(): Promise<number> {
    if (this.#phase !== "stands") return Promise.reject(tooEarly(this.#error));
    return new Promise((resolve, reject) => {
      this.#settleEnded = { resolve, reject };
      this.#phase = "ending";
      this.#operation?.write(encodeFrame(FRAME.END, 0));
      this.#await();
    });
  }

  #await(): void {
    this.#timer = setTimeout(() => this.#operation?.fail(unresponsive()), this.#answerMs).unref();
  }

  #stands(): void {
    clearTimeout(this.#timer);
    this.#phase = "stands";
    this.#since = performance.now();
    this.#settleStarted.resolve(this);
  }

  #over(): void {
    this.#phase = "over";
    this.#operation?.close();
    this.#settleEnded.resolve(performance.now() - this.#since);
  }
}

interface Settle<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}
const NOBODY = { resolve: ignore, reject: ignore };

function tooEarly(cause: BelljarError | undefined): BelljarError {
  if (cause && cause.code !== "SANDBOX_UNRESPONSIVE") return cause;
  return new BelljarError(
    "SANDBOX_UNRESPONSIVE",
    "The sandbox's programs went on before their files were copied, so the copy is of no one moment. Try again",
    { cause },
  );
}
