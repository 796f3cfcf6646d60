import type * as z from "zod";
import { limitTime } from "../async/limit-time.ts";
import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import type { KeptProcess } from "../sandbox/sandbox.ts";
import type { BrowserAction } from "./actions/action.ts";
import { DriverReader, type Said } from "./driver-reader.ts";
import { toFrame } from "./frames.ts";
import type { DriverAnswer, ServerMessage } from "./wire.ts";
import { ToldInside } from "./told-inside.ts";

const SIGKILL = 9;
/** Beyond the deadline that the driver has for an action. One that does not answer by then is ended. */
const GRACE_MS = 4_000;
const START_MS = 40_000;
/** For the browser to end as a person would end it. */
const END_MS = 3_000;
const KILL_MS = 5_000;
const STDERR_MAX = 2_000;
/** Calls that one driver has at a time: each holds what it asks for until it is answered. */
const PENDING_MAX = 64;
/** Of what it was sent and has not read. It may have one more message. */
const UNREAD_MAX_BYTES = 8 * 1_048_576;

export interface CalledAnswer<Value> {
  readonly value: Value;
  readonly picture?: { readonly type: "image/png" | "image/jpeg"; readonly bytes: Buffer };
}

interface Asked<Args> {
  readonly args: Args;
  readonly session: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Settled = DriverAnswer & { readonly bytes?: Buffer | undefined };

interface Pending {
  settle(answer: Settled): void;
  fail(error: BelljarError): void;
}

export interface ConnectionOptions {
  /** Without a call for so long the browser ends, unless the sandbox is paused then. */
  readonly idleMs: number;
  /** Whether the sandbox is paused now. No answer is late meanwhile. */
  readonly isPaused: () => boolean;
  /** What one that waits is to start. */
  readonly start?: Omit<Extract<ServerMessage, { readonly type: "start" }>, "type">;
  /** Ends what the driver may have left of its process group. */
  readonly clear: (pid: number) => Promise<void>;
}

/**
 * The server's end of a driver, which may be anybody's: the sandbox's user can do to its processes whatever it likes. What the driver says
 * must be asked for, fit its schema and its size, and come in time; anything else ends it, and is the result of all calls that wait.
 */
export class DriverConnection {
  /** Resolves when Chromium runs. */
  readonly ready: Promise<void>;
  /** Resolves when the driver has ended, for whatever reason. Never rejects. */
  readonly gone: Promise<void>;
  readonly #process: KeptProcess;
  readonly #options: ConnectionOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #reader = new DriverReader();
  /** That have called, and have not left. */
  readonly #sessions = new Set<string>();
  #lastId = 0;
  #isReady = false;
  #end: BelljarError | undefined;
  #settleReady: { resolve(): void; reject(error: BelljarError): void } | undefined;
  #stderr = "";
  #idle: NodeJS.Timeout | undefined;

  constructor(process: KeptProcess, options: ConnectionOptions) {
    this.#process = process;
    this.#options = options;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    const timer = setTimeout(() => this.#fail(failed(`it did not start within ${START_MS} ms`)), START_MS);
    const started = (): void => clearTimeout(timer);
    this.ready.then(started, started);
    process.stdout.resume();
    process.stderr.on("data", (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_MAX)));
    this.#channel.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#channel.on("error", () => undefined);
    if (options.start) this.#send({ type: "start", ...options.start });
    this.gone = process.exited
      .then(
        () => this.#fail(crashed(this.#stderr)),
        (cause: unknown) => this.#fail(cause instanceof BelljarError ? cause : crashed(this.#stderr)),
      )
      .then(() => this.#leaveNothing());
  }

  /** It takes no more calls. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Rejects with what the driver says, with the signal's reason, or with how the driver ended. */
  async call<Args, Value>(
    action: BrowserAction<Args, Value>,
    { args, session, timeoutMs, signal }: Asked<Args>,
  ): Promise<CalledAnswer<Value>> {
    const { name } = action;
    const answer = await this.#ask({ timeoutMs, signal }, (id) => {
      this.#sessions.add(session);
      return { type: "request", id, session, action: name, args, timeoutMs };
    });
    if (answer.error) throw new ToldInside(answer.error.code, answer.error.message);
    const checked = action.value.safeParse(answer.value);
    if (!checked.success)
      throw isOnlyTooLarge(checked.error) ? tooLarge(name) : this.#fail(failed(`its answer to ${name} is none`, checked.error));
    const { picture, bytes } = answer;
    return { value: checked.data, ...(picture !== undefined && bytes && { picture: { type: picture, bytes } }) };
  }

  /** Closes the tabs of a session, if it has called. One message for each that has: a paused sandbox reads none meanwhile. */
  leave(session: string): void {
    if (this.#sessions.delete(session)) this.#send({ type: "leave", session });
  }

  /** Resolves once the files of the sandbox hold what the browser knows of its user. */
  async keep(signal: AbortSignal): Promise<void> {
    using limit = limitTime(signal, END_MS + GRACE_MS);
    await this.#ask({ timeoutMs: END_MS, signal: limit.signal }, (id) => ({ type: "keep", id }));
  }

  kept(): void {
    this.#send({ type: "kept" });
  }

  /** Ends the browser: as a person would, and by force if it does not. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#send({ type: "end" });
    this.#settleReady?.reject(closed());
    this.#end ??= closed();
    for (const pending of this.#pending.values()) pending.fail(closed());
    if ((await settleWithin(this.gone, { timeoutMs: END_MS })) !== "late") return;
    this.#process.kill(SIGKILL);
    await settleWithin(this.gone, { timeoutMs: KILL_MS });
  }

  async #ask({ timeoutMs, signal }: Pick<Asked<never>, "timeoutMs" | "signal">, ask: (id: number) => ServerMessage): Promise<Settled> {
    if (this.#end) throw this.#end;
    signal.throwIfAborted();
    if (this.#pending.size >= PENDING_MAX) {
      throw new BelljarError("PROCESS_LIMIT", `${PENDING_MAX} calls wait for this browser already; let some of them end first`);
    }
    if (this.#channel.writableLength > UNREAD_MAX_BYTES) throw this.#refuseUnread();
    clearTimeout(this.#idle);
    const id = ++this.#lastId;
    const answered = this.#answered(id, timeoutMs + GRACE_MS);
    this.#send(ask(id));
    return this.#unlessAborted(id, answered, signal);
  }

  /** A driver that has answered all of it has read it, unless it lies. */
  #refuseUnread(): BelljarError {
    if (this.#pending.size === 0) return this.#fail(failed("it answers what it does not read"));
    return new BelljarError("PROCESS_LIMIT", "This browser has more to read than it can take; let some of its calls end first");
  }

  /** The answer must come in time also if the caller has gone: until then the driver has the call. */
  #answered(id: number, withinMs: number): Promise<Settled> {
    const wait = () => setTimeout(() => (this.#options.isPaused() ? (timer = wait()) : void this.#fail(late(withinMs))), withinMs);
    let timer = wait();
    const answered = new Promise<Settled>((settle, fail) => this.#pending.set(id, { settle, fail })).finally(() => {
      clearTimeout(timer);
      this.#pending.delete(id);
      this.#endWhenIdle();
    });
    answered.catch(() => undefined);
    return answered;
  }

  /** Asked whenever a call may have been the last: several that are answered at once leave one timer. */
  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    if (this.#pending.size > 0 || this.#end) return;
    const { idleMs, isPaused } = this.#options;
    // While the sandbox is paused it could not end as a person would end it, and would lose what it knows of its user.
    this.#idle = setTimeout(() => (isPaused() ? this.#endWhenIdle() : void this.close()), idleMs).unref();
  }

  async #unlessAborted(id: number, answered: Promise<Settled>, signal: AbortSignal): Promise<Settled> {
    let cancel: () => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => {
      cancel = () => {
        this.#send({ type: "cancel", id });
        reject(signal.reason instanceof Error ? signal.reason : new BelljarError("CANCELLED", "The call was cancelled"));
      };
    });
    aborted.catch(() => undefined);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await Promise.race([answered, aborted]);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  #read(chunk: Buffer): void {
    if (this.#end) return;
    try {
      for (const said of this.#reader.push(chunk)) {
        this.#take(said);
        if (this.#end) return;
      }
    } catch (cause) {
      this.#fail(failed("it sent what is no message of a driver", cause));
    }
  }

  #take({ message, picture }: Said): void {
    if (message.type === "ready") return this.#start();
    if (message.type === "waiting") return void this.#fail(failed("it waits although it was told to start"));
    if (message.type === "failed") return void this.#fail(new ToldInside(message.error.code, message.error.message));
    const pending = this.#pending.get(message.id);
    if (!pending) return void this.#fail(failed("it answered what nobody asked"));
    // A second answer to it is one that nobody asked for.
    this.#pending.delete(message.id);
    pending.settle({ ...message, bytes: picture });
  }

  /** Whoever wished for it may be gone: it is idle until it is called. */
  #start(): void {
    if (this.#isReady) return void this.#fail(failed("it started twice"));
    this.#isReady = true;
    this.#settleReady?.resolve();
    this.#endWhenIdle();
  }

  #send(message: ServerMessage): void {
    if (!this.#end) this.#channel.write(toFrame("message", Buffer.from(JSON.stringify(message))));
  }

  /** Ends it, if it has not ended. Returns how it did. */
  #fail(error: BelljarError): BelljarError {
    if (this.#end) return this.#end;
    this.#end = error;
    clearTimeout(this.#idle);
    this.#settleReady?.reject(error);
    for (const pending of this.#pending.values()) pending.fail(error);
    this.#process.kill(SIGKILL);
    return error;
  }

  async #leaveNothing(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#options.clear(this.#process.pid);
    await this.#process[Symbol.asyncDispose]();
  }

  get #channel() {
    const [channel] = this.#process.channels;
    if (!channel) throw new TypeError("A driver has one channel");
    return channel;
  }
}

function failed(why: string, cause?: unknown): BelljarError {
  return new BelljarError("BROWSER_FAILED", `The browser's driver was ended: ${why}. The next call starts a new browser`, { cause });
}

/** Which is no lie, and costs no more than what fits: the tabs of the others need not go for it. */
function isOnlyTooLarge({ issues }: z.ZodError): boolean {
  return issues.every(({ code }) => code === "too_big");
}

function tooLarge(name: string): BelljarError {
  return new BelljarError("RESULT_TOO_LARGE", `The browser's answer to ${name} is larger than there may be; ask for a smaller part`);
}

function late(ms: number): BelljarError {
  return failed(`it did not answer within ${ms} ms`);
}

function crashed(stderr: string): BelljarError {
  const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`;
  return new ToldInside("BROWSER_CRASHED", `The browser has ended${said}. The next call starts a new one`);
}

function closed(): BelljarError {
  return new BelljarError("BROWSER_CRASHED", "The browser was closed. The next call starts a new one");
}
