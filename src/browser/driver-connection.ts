import { BelljarError } from "../errors.ts";
import type { ExecProcess } from "../sandbox/sandbox.ts";
import type { BrowserAction } from "./actions/action.ts";
import { FrameReader, toFrame } from "./frames.ts";
import { DriverMessage, type ServerMessage } from "./wire.ts";

/** Beyond the deadline that the driver has for an action. One that does not answer by then is ended. */
const GRACE_MS = 3_000;
const START_MS = 40_000;
const STDERR_MAX = 4_000;

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

type Settled = Extract<DriverMessage, { readonly type: "answer" }> & { readonly bytes?: Buffer | undefined };

interface Pending {
  settle(answer: Settled): void;
  fail(error: BelljarError): void;
}

/**
 * The server's end of a driver, which may be anybody's: the sandbox's user can do to its processes whatever it likes. What the driver says
 * must be asked for, fit its schema and its size, and come in time; anything else ends it, and is the result of all calls that wait.
 */
export class DriverConnection {
  readonly ready: Promise<void>;
  /** Resolves when the driver has ended, for whatever reason. Never rejects. */
  readonly gone: Promise<void>;
  readonly #process: ExecProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #reader = new FrameReader();
  #lastId = 0;
  #picture: Buffer | undefined;
  #end: BelljarError | undefined;
  #settleReady: { resolve(): void; reject(error: BelljarError): void } | undefined;
  #stderr = "";

  constructor(process: ExecProcess) {
    this.#process = process;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    this.ready.catch(() => undefined);
    const timer = setTimeout(() => this.#fail(failed(`it did not start within ${START_MS} ms`)), START_MS);
    void this.ready.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
    process.stdout.resume();
    process.stderr.on("data", (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_MAX)));
    this.#channel.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#channel.on("error", () => undefined);
    this.gone = process.exited.then(
      () => this.#fail(crashed(this.#stderr)),
      (cause: unknown) => this.#fail(cause instanceof BelljarError ? cause : crashed(this.#stderr)),
    );
  }

  /** Rejects with what the driver says, with the signal's reason, or with how the driver ended. */
  async call<Args, Value>(
    action: BrowserAction<Args, Value>,
    { args, session, timeoutMs, signal }: Asked<Args>,
  ): Promise<CalledAnswer<Value>> {
    if (this.#end) throw this.#end;
    signal.throwIfAborted();
    const id = ++this.#lastId;
    const cancel = (): void => this.#send({ type: "cancel", id });
    const timer = setTimeout(() => this.#fail(failed(`it did not answer within ${timeoutMs + GRACE_MS} ms`)), timeoutMs + GRACE_MS);
    try {
      const answered = new Promise<Settled>((settle, fail) => this.#pending.set(id, { settle, fail }));
      this.#send({ type: "request", id, session, action: action.name, args, timeoutMs });
      signal.addEventListener("abort", cancel, { once: true });
      return this.#checked(action, await answered);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      this.#pending.delete(id);
    }
  }

  leave(session: string): void {
    if (!this.#end) this.#send({ type: "leave", session });
  }

  async close(): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await this.gone;
  }

  #checked<Value>(
    action: Pick<BrowserAction<never, Value>, "name" | "value">,
    { value, error, picture, bytes }: Settled,
  ): CalledAnswer<Value> {
    if (error) throw new BelljarError(error.code, error.message);
    const checked = action.value.safeParse(value);
    if (!checked.success) {
      const end = failed(`its answer to ${action.name} is none`);
      this.#fail(end);
      throw end;
    }
    return { value: checked.data, ...(picture !== undefined && bytes && { picture: { type: picture, bytes } }) };
  }

  #read(chunk: Buffer): void {
    if (this.#end) return;
    try {
      for (const { kind, bytes } of this.#reader.push(chunk)) {
        if (kind === "picture") this.#hold(bytes);
        else this.#take(DriverMessage.parse(JSON.parse(bytes.toString("utf8"))));
        if (this.#end) return;
      }
    } catch (cause) {
      this.#fail(failed("it sent what is no message of a driver", cause));
    }
  }

  #hold(bytes: Buffer): void {
    if (this.#picture) this.#fail(failed("it sent a picture that nobody asked for"));
    // A copy: a part of a chunk would keep the whole of it.
    this.#picture = Buffer.from(bytes);
  }

  #take(message: DriverMessage): void {
    const picture = this.#picture;
    this.#picture = undefined;
    if (message.type === "ready") return this.#settleReady?.resolve();
    if (message.type === "failed") return this.#fail(new BelljarError(message.error.code, message.error.message));
    const pending = this.#pending.get(message.id);
    if (!pending || (picture === undefined) !== (message.picture === undefined)) {
      return this.#fail(failed("it answered what nobody asked"));
    }
    this.#pending.delete(message.id);
    pending.settle({ ...message, bytes: picture });
  }

  #send(message: ServerMessage): void {
    this.#channel.write(toFrame("message", Buffer.from(JSON.stringify(message))));
  }

  #fail(error: BelljarError): void {
    if (this.#end) return;
    this.#end = error;
    this.#settleReady?.reject(error);
    for (const pending of this.#pending.values()) pending.fail(error);
    this.#pending.clear();
    void this.#process[Symbol.asyncDispose]();
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

function crashed(stderr: string): BelljarError {
  const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`;
  return new BelljarError("BROWSER_CRASHED", `The browser has ended${said}. The next call starts a new one`);
}
