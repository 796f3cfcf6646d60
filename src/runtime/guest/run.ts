import type { BelljarError } from "../../errors.ts";
import { ReceiveWindow, SendWindow } from "../../protocol/credit.ts";
import { Fields, malformed } from "../../protocol/fields.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { FRAME, GUEST_CREDIT_BYTES, HOST_CREDIT_BYTES, PAYLOAD_MAX_BYTES } from "../../protocol/wire.ts";
import { ByteQueue } from "./byte-queue.ts";
import { execExit, execRequest } from "./exec-request.ts";
import type { RunOptions, RunResult } from "./guest.ts";
import type { Link } from "./link.ts";
import { openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

const OUTPUT_DEFAULT_BYTES = 1_048_576;
const STDIN = 0;

/** Runs a command to its end, without Node streams. The head, a short input and the input's end are sent in one write. */
export async function runToEnd(link: Link, options: RunOptions): Promise<RunResult> {
  const input = new Input(options.input);
  const session = new RunSession(options, input);
  const request = execRequest(await link.env(options.signal), { ...options, stdin: input.isGiven });
  await openOperation(link, { ...request, frames: input.next() }, session, options.signal);
  return session.result;
}

/** The command's stdin, sent in frames as the guest gives credit. */
class Input {
  readonly isGiven: boolean;
  readonly #window = new SendWindow(HOST_CREDIT_BYTES);
  #rest: Uint8Array;
  #isEnded: boolean;

  constructor(input: string | Uint8Array | undefined) {
    this.isGiven = input !== undefined;
    this.#isEnded = !this.isGiven;
    this.#rest = typeof input === "string" ? Buffer.from(input) : (input ?? Buffer.alloc(0));
  }

  grant(bytes: number): void {
    this.#window.grant(bytes);
  }

  /** Returns the frames that may be sent now. */
  next(): Buffer[] {
    const frames: Buffer[] = [];
    for (let size = this.#take(); size > 0; size = this.#take()) {
      frames.push(encodeFrame(FRAME.DATA, STDIN, this.#rest.subarray(0, size)));
      this.#rest = this.#rest.subarray(size);
    }
    if (this.#rest.length === 0 && !this.#isEnded) {
      this.#isEnded = true;
      frames.push(encodeFrame(FRAME.END, STDIN));
    }
    return frames;
  }

  #take(): number {
    return this.#window.take(Math.min(this.#rest.length, PAYLOAD_MAX_BYTES));
  }
}

/** One output stream. It keeps the first `maxBytes` bytes, and gives credit for all. */
class Output {
  readonly #window = new ReceiveWindow(GUEST_CREDIT_BYTES);
  readonly #kept = new ByteQueue();
  readonly #maxBytes: number;
  isTruncated = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  receive(payload: Buffer): void {
    this.#window.receive(payload.length);
    const room = this.#maxBytes - this.#kept.byteLength;
    if (payload.length > room) this.isTruncated = true;
    if (room > 0) this.#kept.append(payload.subarray(0, room));
  }

  /** Returns the credit to send. */
  take(bytes: number): number {
    return this.#window.take(bytes);
  }

  takeAll(): Buffer {
    return this.#kept.takeAll();
  }
}

class RunSession implements FrameHandler {
  readonly result: Promise<RunResult>;
  readonly #input: Input;
  readonly #stdout: Output;
  readonly #stderr: Output;
  readonly #onOutput: RunOptions["onOutput"];
  #operation: Operation | undefined;
  readonly #onStarted: RunOptions["onStarted"];
  /** Chunks whose taker has not settled. Their credit is held back. */
  #untaken = 0;
  #settle: { readonly resolve: (result: RunResult) => void; readonly reject: (error: Error) => void } | undefined;

  constructor({ maxOutputBytes = OUTPUT_DEFAULT_BYTES, onOutput, onStarted }: RunOptions, input: Input) {
    this.#input = input;
    this.#stdout = new Output(maxOutputBytes);
    this.#stderr = new Output(maxOutputBytes);
    this.#onOutput = onOutput;
    this.#onStarted = onStarted;
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  opened(operation: Operation): void {
    this.#operation = operation;
  }

  frame(type: number, channel: number, payload: Buffer): void {
    switch (type) {
      case FRAME.STARTED:
        return this.#onStarted?.(Fields.parse(payload).needNumber("PID"));
      case FRAME.END:
        return;
      case FRAME.DATA:
        return this.#receive(channel, payload);
      case FRAME.CREDIT:
        return this.#send(channel, payload.readUInt32BE());
      case FRAME.EXIT:
        return this.#ended(payload);
      default:
        throw unexpected(type);
    }
  }

  #receive(channel: number, payload: Buffer): void {
    if (channel !== 1 && channel !== 2) throw malformed(`data on channel ${channel}, which is closed`);
    const output = channel === 1 ? this.#stdout : this.#stderr;
    output.receive(payload);
    const taking = this.#onOutput?.(channel === 1 ? "stdout" : "stderr", payload);
    if (taking instanceof Promise) void this.#creditAfter(taking, channel, payload.length);
    else this.#operation?.credit(channel, output.take(payload.length));
  }

  async #creditAfter(taking: Promise<unknown>, channel: number, bytes: number): Promise<void> {
    this.#untaken += 1;
    await Promise.allSettled([taking]);
    this.#untaken -= 1;
    this.#operation?.credit(channel, (channel === 1 ? this.#stdout : this.#stderr).take(bytes));
  }

  isOurTurn(): boolean {
    return this.#untaken > 0;
  }

  #send(channel: number, bytes: number): void {
    if (channel !== STDIN) throw malformed(`credit on channel ${channel}, which is closed`);
    this.#input.grant(bytes);
    for (const frame of this.#input.next()) this.#operation?.write(frame);
  }

  #ended(payload: Buffer): void {
    this.#operation?.close();
    this.#settle?.resolve({
      ...execExit(payload),
      stdout: this.#stdout.takeAll(),
      stderr: this.#stderr.takeAll(),
      truncated: this.#stdout.isTruncated || this.#stderr.isTruncated,
    });
  }

  failed(error: BelljarError): void {
    this.#settle?.reject(error);
  }
}
