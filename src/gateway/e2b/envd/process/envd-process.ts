import { finished } from "node:stream";
import { raceLasting } from "../../../../async/race-lasting.ts";
import { settleWithin } from "../../../../async/settle-within.ts";
import { Turns } from "../../../../async/turns.ts";
import { BelljarError } from "../../../../errors.ts";
import type { ExecExit, ExecProcess, Guest, KeptProcess } from "../../../../sandbox/sandbox.ts";
import type { Listener, OutputKind } from "./broadcast.ts";
import { Broadcast } from "./broadcast.ts";
import type { Size } from "./messages.ts";
import type { ProcessNote } from "./process-note.ts";

/** Another server of the same home may have the stream of a process, and gives it back when nobody listens there. */
const ATTACH_MS = 5_000;
/** So long the guest may take to let go of a stream. */
const DETACH_MS = 5_000;
/** So long one that has ended may take to tell what it printed, and its end. */
const ENDS_MS = 5_000;
const SIGKILL = 9;
/** So long a kill waits for the end that it makes. */
const KILLED_MS = 2_000;
const OUTPUT_MAX_BYTES = 32_768;

/** A process's stream. Without `detach` the process is not kept inside, and ends with its stream. */
export interface ProcessStream extends ExecProcess {
  readonly detach?: KeptProcess["detach"];
}

/** Somebody listens, until it is disposed. */
export interface Listening extends Pick<Listener, "take">, AsyncDisposable {}

interface EnvdProcessOptions {
  readonly name: string;
  readonly pid: number;
  readonly note: ProcessNote;
  readonly guest: Pick<Guest, "attach">;
  /** It has ended, or nobody knows it any more. */
  readonly onEnd: (process: EnvdProcess) => void;
}

/**
 * A process of E2B's clients. The sandbox keeps it: this side has its stream only while somebody listens or writes, so that what it prints
 * for nobody costs nothing here, and any server of the home may have it next.
 */
export class EnvdProcess {
  readonly name: string;
  readonly pid: number;
  readonly note: ProcessNote;
  readonly #guest: Pick<Guest, "attach">;
  readonly #onEnd: (process: EnvdProcess) => void;
  readonly #turns = new Turns();
  readonly #broadcast = new Broadcast({ pause: () => this.#flow("pause"), resume: () => this.#flow("resume") });
  #stream: ProcessStream | undefined;
  #users = 0;
  #lostTo: BelljarError | undefined;
  #exit: ExecExit | undefined;
  #over: Promise<void> = Promise.resolve();
  #stop = new AbortController();

  constructor({ name, pid, note, guest, onEnd }: EnvdProcessOptions) {
    this.name = name;
    this.pid = pid;
    this.note = note;
    this.#guest = guest;
    this.#onEnd = onEnd;
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  /** This side has its stream, and hears of its end. */
  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  /** For a process that was just started: nothing of its output is lost to the listener. `stop` ends the stream, and nothing else. */
  begin(stream: ProcessStream, stop: AbortController): Listening {
    this.#users += 1;
    this.#stop = stop;
    const listener = this.#listen();
    this.#take(stream);
    return listener;
  }

  /** Listens from now on. One that has ended tells its end. Rejects with `PROCESS_NOT_FOUND` if nobody knows it any more. */
  async connect(signal: AbortSignal): Promise<Listening> {
    await this.#enter(signal);
    return this.#listen();
  }

  async write(bytes: Buffer, to: "stdin" | "pty", signal: AbortSignal): Promise<void> {
    if ((to === "pty") !== this.note.isTerminal) throw refused(`The process has ${this.note.isTerminal ? "a terminal" : "no terminal"}`);
    await this.#with(signal, ({ stdin }) => this.#whileOpen(writeAll(stdin, bytes, signal)));
  }

  async closeInput(signal: AbortSignal): Promise<void> {
    if (this.note.isTerminal) throw refused("A terminal has no stdin that could be closed; send Ctrl-D to it");
    await this.#with(signal, async ({ stdin }) => {
      if (stdin.destroyed || stdin.writableEnded) return;
      await this.#whileOpen(new Promise<void>((resolve) => finished(stdin.end(), () => resolve())));
    });
  }

  /** What waits for a process that takes no input ends with it: its stream does not say so. */
  async #whileOpen(work: Promise<void>): Promise<void> {
    const done = work.then(() => "done" as const);
    if ((await raceLasting(this.#over, done)) !== "done") throw this.#lostTo ?? refused("stdin not enabled or closed");
  }

  async resize({ rows, cols }: Size, signal: AbortSignal): Promise<void> {
    if (!this.note.isTerminal) throw refused("The process has no terminal");
    await this.#with(signal, async (stream) => stream.resize(rows, cols));
  }

  /** To its process group. Resolves after SIGKILL once it has ended, or after two seconds. */
  async signal(number: number, signal: AbortSignal): Promise<void> {
    if (this.#exit) throw this.#gone();
    await this.#with(signal, async (stream) => {
      stream.kill(number);
      if (number === SIGKILL) await settleWithin(this.#over, { timeoutMs: KILLED_MS, signal });
    });
  }

  /** Takes the end of one that ended while nobody listened. Never rejects: another server may be taking it. */
  async takeEnd(): Promise<void> {
    try {
      await this.#enter();
      await settleWithin(this.#over, { timeoutMs: ENDS_MS });
      await this.#leave();
    } catch (error) {
      if (!(error instanceof BelljarError)) throw error;
    }
  }

  /** Leaves it as it is. */
  close(error: BelljarError): void {
    this.#broadcast.end({ error });
    this.#stop.abort();
  }

  /** Its stream is there while the work goes on. */
  async #with(signal: AbortSignal, work: (stream: ProcessStream) => Promise<void>): Promise<void> {
    await this.#enter(signal);
    try {
      if (!this.#stream) throw this.#gone();
      await work(this.#stream);
    } finally {
      await this.#leave();
    }
  }

  async #enter(signal?: AbortSignal): Promise<void> {
    await this.#turns.run(async () => {
      if (!this.#stream && !this.#exit) this.#take(await this.#attach());
      this.#users += 1;
    }, signal);
  }

  async #attach(): Promise<KeptProcess> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), ATTACH_MS);
    try {
      const stream = await this.#guest.attach(this.name, stop.signal);
      this.#stop = stop;
      return stream;
    } catch (error) {
      if (error instanceof BelljarError && error.code === "PROCESS_NOT_FOUND") this.#onEnd(this);
      if (stop.signal.aborted)
        throw new BelljarError("SERVER_BUSY", "Another server of this home uses the process; ask that one", { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #leave(): Promise<void> {
    await this.#turns.run(async () => {
      this.#users -= 1;
      if (this.#users > 0 || !this.#stream?.detach) return;
      this.#stream.stdout.resume();
      this.#stream.stderr.resume();
      this.#stream.detach();
      // What it ended with meanwhile is still told.
      if ((await settleWithin(this.#over, { timeoutMs: DETACH_MS })) === "late") this.#stop.abort();
    });
  }

  #listen(): Listening {
    const listener = this.#broadcast.listen();
    if (this.#exit) listener.end({ exit: this.#exit });
    return {
      take: (signal) => listener.take(signal),
      [Symbol.asyncDispose]: async () => {
        listener[Symbol.dispose]();
        await this.#leave();
      },
    };
  }

  #take(stream: ProcessStream): void {
    this.#stream = stream;
    stream.stdout.on("data", (chunk: Buffer) => this.#send(this.note.isTerminal ? "pty" : "stdout", chunk));
    if (!this.note.isTerminal) stream.stderr.on("data", (chunk: Buffer) => this.#send("stderr", chunk));
    else stream.stderr.resume();
    this.#over = stream.exited.then(
      (exit) => this.#ended(exit),
      (error: BelljarError) => this.#lost(error),
    );
  }

  #send(kind: OutputKind, chunk: Buffer): void {
    for (let at = 0; at < chunk.length; at += OUTPUT_MAX_BYTES)
      this.#broadcast.send({ kind, bytes: chunk.subarray(at, at + OUTPUT_MAX_BYTES) });
  }

  #flow(how: "pause" | "resume"): void {
    this.#stream?.stdout[how]();
    this.#stream?.stderr[how]();
  }

  #ended(exit: ExecExit): void {
    this.#stream = undefined;
    this.#exit = exit;
    this.#broadcast.end({ exit });
    this.#onEnd(this);
  }

  /** The stream is gone: it was left, or the sandbox has ended. */
  #lost(error: BelljarError): void {
    this.#stream = undefined;
    this.#lostTo = error;
    this.#broadcast.end({ error });
  }

  #gone(): BelljarError {
    return new BelljarError("PROCESS_NOT_FOUND", `process with pid ${this.pid} not found`);
  }
}

function refused(message: string): BelljarError {
  return new BelljarError("COMMAND_FAILED", message);
}

function writeAll(stdin: ExecProcess["stdin"], bytes: Buffer, signal: AbortSignal): Promise<void> {
  if (stdin.destroyed || stdin.writableEnded) throw refused("stdin not enabled or closed");
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new BelljarError("CANCELLED", "The client went before the process took its input"));
    signal.addEventListener("abort", abort, { once: true });
    stdin.write(bytes, (error) => {
      signal.removeEventListener("abort", abort);
      if (error) reject(error);
      else resolve();
    });
  });
}
