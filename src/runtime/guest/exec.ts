import { BelljarError } from "../../errors.ts";
import { Fields, malformed } from "../../protocol/fields.ts";
import { encodeFrame, encodeNumberFrame, encodeResize } from "../../protocol/frames.ts";
import { FLAG, FRAME, HOST_CREDIT_BYTES, OPERATION } from "../../protocol/wire.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { collectRows } from "./call.ts";
import { CHANNELS_MAX, execExit, execRequest } from "./exec-request.ts";
import type { ExecExit, ExecOptions, ExecProcess, KeepOptions, KeptDescription, KeptInfo, KeptProcess } from "./guest.ts";
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
  const { stdin = false } = options;
  const request = execRequest(await link.env(options.signal), { ...options, stdin }, { ...options, name });
  return openSession(link, request, { ...options, stdin });
}

export function attachExec(link: Link, name: string, signal: AbortSignal): Promise<KeptProcess> {
  return openSession(link, { operation: OPERATION.ATTACH, fields: [["NAME", name]] }, { stdin: false, waits: true, signal });
}

export async function listKept(link: Link, signal: AbortSignal): Promise<readonly KeptInfo[]> {
  const rows = await collectRows(link, OPERATION.LIST_KEPT, [], signal);
  return rows.map((fields) => ({ name: fields.needBytes("NAME").toString(), pid: fields.number("PID") }));
}

export async function describeKept(link: Link, name: string, signal: AbortSignal): Promise<KeptDescription> {
  const [fields] = await collectRows(link, OPERATION.LIST_KEPT, [["NAME", name]], signal);
  if (!fields) throw new BelljarError("PROCESS_NOT_FOUND", `No kept command is called ${name}`);
  return { pid: fields.needNumber("PID"), note: fields.bytes("VALUE")?.toString() ?? "" };
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
  #isTerminal = false;
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
    const { waits, channels = 0, terminal, stdin } = this.#options;
    if (!waits) this.#openAll(operation, { channels, isTerminal: terminal !== undefined, hasInput: stdin !== false });
  }

  #openAll(operation: Operation, { channels, isTerminal, hasInput, usedBytes }: Streams): void {
    this.#isTerminal = isTerminal;
    this.#open(operation, { readable: isTerminal, writable: true, usedBytes });
    this.#open(operation, { readable: true, writable: false });
    this.#open(operation, { readable: true, writable: false });
    for (let index = 0; index < channels; index++) this.#open(operation, { readable: true, writable: true });
    if (isTerminal) for (const id of [1, 2]) this.#channel(id).receiveEnd();
    if (!isTerminal && !hasInput) this.#channel(0).stopWriting();
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
    if (this.#options.waits && this.#operation) this.#openAll(this.#operation, readStreams(fields));
    this.#isRunning = true;
    this.#settleStarted?.resolve(this.#process({ pid, wasCut }));
  }

  #process(known: Pick<KeptProcess, "pid" | "wasCut">): KeptProcess {
    const screen = this.#channel(0).stream;
    const stdout = this.#isTerminal ? screen : this.#channel(1).stream;
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

/** What a command has besides stdout and stderr. */
interface Streams {
  readonly channels: number;
  readonly isTerminal: boolean;
  readonly hasInput: boolean;
  /** Of the window of its stdin or its terminal: what it was sent by an earlier stream, and has not taken yet. */
  readonly usedBytes?: number;
}

function readStreams(fields: Fields): Streams {
  const channels = fields.number("CHANNELS") ?? 0;
  if (channels > CHANNELS_MAX) throw malformed(`${channels} channels`);
  const flags = fields.number("FLAGS") ?? 0;
  const isTerminal = (flags & FLAG.TERMINAL) !== 0;
  // Told of commands that stay alone. No other one has a stdin.
  const window = fields.number("SIZE");
  if (window === undefined) return { channels, isTerminal, hasInput: false };
  if (window > HOST_CREDIT_BYTES) throw malformed(`a window of ${window} bytes`);
  return { channels, isTerminal, hasInput: (flags & FLAG.NO_STDIN) === 0, usedBytes: HOST_CREDIT_BYTES - window };
}
