import type { BelljarError } from "../../errors.ts";
import { Fields, malformed } from "../../protocol/fields.ts";
import { encodeFrame, encodeNumberFrame, encodeResize } from "../../protocol/frames.ts";
import { FLAG, FRAME, OPERATION } from "../../protocol/wire.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { collectRows } from "./call.ts";
import { CHANNELS_MAX, execExit, execRequest } from "./exec-request.ts";
import type { ExecExit, ExecOptions, ExecProcess, KeepOptions, KeptInfo, KeptProcess } from "./guest.ts";
import { cancelled } from "./guest-errors.ts";
import type { Link } from "./link.ts";
import { assertSignal } from "./signals.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation, type Request } from "./operation.ts";

const SIGTERM = 15;
const FIRST_EXTRA_CHANNEL = 3;

/** Starts a command, and resolves once it runs. */
export async function startExec(link: Link, options: ExecOptions): Promise<ExecProcess> {
  const request = execRequest(await link.env(options.signal), options);
  return openSession(link, request, { ...options, signal: options.signal });
}

export async function keepExec(link: Link, name: string, options: KeepOptions): Promise<KeptProcess> {
  const silent = { ...options, stdin: false };
  return openSession(link, execRequest(await link.env(options.signal), silent, name), silent);
}

export function attachExec(link: Link, name: string, signal: AbortSignal): Promise<KeptProcess> {
  return openSession(link, { operation: OPERATION.ATTACH, fields: [["NAME", name]] }, { stdin: false, waits: true, signal });
}

export async function listKept(link: Link, signal: AbortSignal): Promise<readonly KeptInfo[]> {
  const rows = await collectRows(link, OPERATION.LIST_KEPT, [], signal);
  return rows.map((fields) => ({ name: fields.needBytes("NAME").toString(), pid: fields.number("PID") }));
}

interface SessionOptions extends Pick<ExecOptions, "channels" | "terminal" | "stdin" | "signal"> {
  /** The guest first says that this stream is in line. Only with STARTED it tells the number of channels. */
  readonly waits?: boolean;
}

async function openSession(link: Link, request: Request, options: SessionOptions): Promise<KeptProcess> {
  const session = new ExecSession(options);
  await openOperation(link, request, session, options.signal);
  return session.started;
}

/** The host's side of one EXEC or ATTACH: frames in, streams out. */
class ExecSession implements FrameHandler {
  readonly started: Promise<KeptProcess>;
  readonly #exited: Promise<ExecExit>;
  readonly #options: SessionOptions;
  readonly #channels: Channel[] = [];
  #operation: Operation | undefined;
  #isInLine = false;
  #isRunning = false;
  #hasLeft = false;
  #exit: ExecExit | undefined;
  #settleStarted: { readonly resolve: (process: KeptProcess) => void; readonly reject: (error: Error) => void } | undefined;
  #settleExited: { readonly resolve: (exit: ExecExit) => void; readonly reject: (error: Error) => void } | undefined;

  constructor(options: SessionOptions) {
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
    if (!this.#options.waits) this.#openAll(operation, this.#options.channels ?? 0);
  }

  #openAll(operation: Operation, channels: number): void {
    const isTerminal = this.#options.terminal !== undefined;
    this.#open(operation, { readable: isTerminal, writable: true });
    this.#open(operation, { readable: true, writable: false });
    this.#open(operation, { readable: true, writable: false });
    for (let index = 0; index < channels; index++) this.#open(operation, { readable: true, writable: true });
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
    if (type === FRAME.EVENT && !this.#isRunning && this.#options.waits && !this.#isInLine) return this.#takePlace();
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

  /** The guest says so once. What says it again and again would have the host wait for ever. */
  #takePlace(): void {
    this.#isInLine = true;
  }

  #start(fields: Fields): void {
    const pid = fields.needNumber("PID");
    const wasCut = ((fields.number("FLAGS") ?? 0) & FLAG.CUT) !== 0;
    if (this.#options.waits && this.#operation) this.#openAll(this.#operation, readChannels(fields));
    this.#isRunning = true;
    this.#settleStarted?.resolve(this.#process({ pid, wasCut }));
  }

  #process(known: Pick<KeptProcess, "pid" | "wasCut">): KeptProcess {
    const screen = this.#channel(0).stream;
    const stdout = this.#options.terminal ? screen : this.#channel(1).stream;
    return {
      ...known,
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
      detach: () => this.#detach(),
      [Symbol.asyncDispose]: async () => this.#operation?.fail(cancelled()),
    };
  }

  /** The guest closes the stream when it has read the frame: what was written before it is not lost. */
  #detach(): void {
    this.#hasLeft = true;
    this.#operation?.write(encodeFrame(FRAME.DETACH, 0));
    this.#operation?.resume();
  }

  isOver(): boolean {
    if (this.#hasLeft) this.failed(cancelled());
    return this.#hasLeft;
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

function readChannels(fields: Fields): number {
  const channels = fields.number("CHANNELS") ?? 0;
  if (channels > CHANNELS_MAX) throw malformed(`${channels} channels`);
  return channels;
}
