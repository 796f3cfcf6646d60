import type { BelljarError } from "../../errors.ts";
import { Fields, malformed } from "../../protocol/fields.ts";
import { encodeNumberFrame, encodeResize } from "../../protocol/frames.ts";
import { FRAME } from "../../protocol/wire.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { execExit, execRequest } from "./exec-request.ts";
import type { ExecExit, ExecOptions, ExecProcess } from "./guest.ts";
import { cancelled } from "./guest-errors.ts";
import type { Link } from "./link.ts";
import { assertSignal } from "./signals.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

const SIGTERM = 15;
const FIRST_EXTRA_CHANNEL = 3;

/** Starts a command, and resolves once it runs. */
export async function startExec(link: Link, options: ExecOptions): Promise<ExecProcess> {
  const session = new ExecSession(options);
  const request = execRequest(await link.env(options.signal), options);
  await openOperation(link, request, session, options.signal);
  return session.started;
}

/** The host's side of one EXEC: frames in, streams out. */
class ExecSession implements FrameHandler {
  readonly started: Promise<ExecProcess>;
  readonly #exited: Promise<ExecExit>;
  readonly #options: ExecOptions;
  readonly #channels: Channel[] = [];
  #operation: Operation | undefined;
  #isRunning = false;
  #exit: ExecExit | undefined;
  #settleStarted: { readonly resolve: (process: ExecProcess) => void; readonly reject: (error: Error) => void } | undefined;
  #settleExited: { readonly resolve: (exit: ExecExit) => void; readonly reject: (error: Error) => void } | undefined;

  constructor(options: ExecOptions) {
    this.#options = options;
    this.started = new Promise((resolve, reject) => {
      this.#settleStarted = { resolve, reject };
    });
    this.#exited = new Promise((resolve, reject) => {
      this.#settleExited = { resolve, reject };
    });
    // A caller may use only the streams, and never await `exited`.
    this.#exited.catch(ignore);
  }

  opened(operation: Operation): void {
    this.#operation = operation;
    const isTerminal = this.#options.terminal !== undefined;
    this.#open(operation, { readable: isTerminal, writable: true });
    this.#open(operation, { readable: true, writable: false });
    this.#open(operation, { readable: true, writable: false });
    for (let index = 0; index < (this.#options.channels ?? 0); index++) this.#open(operation, { readable: true, writable: true });
    if (isTerminal) for (const id of [1, 2]) this.#channel(id).receiveEnd();
    else if (this.#options.stdin === false) this.#channel(0).stopWriting();
  }

  #open(operation: Operation, options: ChannelOptions): void {
    this.#channels.push(new Channel(operation, this.#channels.length, { ...options, onDrained: () => this.#settle() }));
  }

  isOurTurn(): boolean {
    return this.#channels.some((channel) => channel.isUnread);
  }

  #channel(id: number): Channel {
    const channel = this.#channels[id];
    if (!channel) throw malformed(`a frame on channel ${id}, which was not asked for`);
    return channel;
  }

  frame(type: number, id: number, payload: Buffer): void {
    if (type === FRAME.STARTED && !this.#isRunning) return this.#start(Fields.parse(payload));
    if (!this.#isRunning) throw unexpected(type);
    switch (type) {
      case FRAME.DATA:
        return this.#channel(id).receive(payload);
      case FRAME.END:
        return this.#channel(id).receiveEnd();
      case FRAME.CREDIT:
        return this.#channel(id).receiveCredit(payload.readUInt32BE());
      case FRAME.EXIT:
        return this.#ended(execExit(payload));
      default:
        throw unexpected(type);
    }
  }

  #start(fields: Fields): void {
    const pid = fields.needNumber("PID");
    this.#isRunning = true;
    this.#settleStarted?.resolve(this.#process(pid));
  }

  #process(pid: number): ExecProcess {
    const screen = this.#channel(0).stream;
    const stdout = this.#options.terminal ? screen : this.#channel(1).stream;
    return {
      pid,
      stdin: screen,
      stdout,
      stderr: this.#channel(2).stream,
      channels: this.#channels.slice(FIRST_EXTRA_CHANNEL).map((channel) => channel.stream),
      kill: (signalNumber = SIGTERM) => {
        assertSignal(signalNumber);
        this.#operation?.write(encodeNumberFrame(FRAME.SIGNAL, 0, signalNumber));
      },
      resize: (rows, cols) => this.#operation?.write(encodeResize(rows, cols)),
      exited: this.#exited,
      [Symbol.asyncDispose]: async () => this.#operation?.fail(cancelled()),
    };
  }

  #ended(exit: ExecExit): void {
    this.#exit = exit;
    this.#operation?.close();
    for (const channel of this.#channels) {
      channel.receiveEnd();
      channel.stopWriting();
    }
    this.#settle();
  }

  /** `exited` resolves only once the output is taken, so that whoever awaits it has seen all output. */
  #settle(): void {
    if (this.#exit && this.#channels.slice(0, FIRST_EXTRA_CHANNEL).every((channel) => channel.isDrained))
      this.#settleExited?.resolve(this.#exit);
  }

  failed(error: BelljarError): void {
    for (const channel of this.#channels) channel.fail(error);
    this.#settleStarted?.reject(error);
    this.#settleExited?.reject(error);
  }
}
