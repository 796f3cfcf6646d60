import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import { BelljarError } from "../../errors.ts";
import type { Fields } from "../../protocol/fields.ts";
import { OPERATION } from "../../protocol/wire.ts";
import { call } from "./call.ts";
import { cancelled, connectionLost, type RunEnd, sandboxEnded } from "./guest-errors.ts";
import { ANSWER_MS } from "./patience.ts";
import type { SandboxLink } from "./sandbox-link.ts";

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
/** Operations that do not wake a paused sandbox: the streams that wait for its programs, the question whether it lives, and STILL. */
const SLEEPS_ON: ReadonlySet<number> = new Set([OPERATION.LISTEN, OPERATION.ACCEPT, OPERATION.PING, OPERATION.STILL]);

const SILENT_ANSWER_MS = 3_000;
/** Maximum time for the answer of a guest that was asked whether everything stands still. */
const STILL_ANSWER_MS = 1_000;
/** The PHASE in the answer of a PING, as a keeper has it for a paused sandbox. */
const STANDS_STILL = 2;

/** Time that a broken stream waits for the news that the sandbox has ended. */
const END_GRACE_MS = 2_000;

export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export type Environment = Readonly<Record<string, string>>;

export interface LinkOptions {
  readonly secret?: string;
  /** Variables for every exec, which its own variables override. A function is called before each exec. If it rejects, the exec fails. */
  readonly env?: Environment | (() => Environment | Promise<Environment>);
  readonly ended?: Promise<RunEnd>;
  /**
   * Called when a stream broke and `ended` did not tell why. If it rejects with a `BelljarError`, as for a caller who is refused now, the
   * operation fails with that.
   */
  readonly findEnd?: () => Promise<RunEnd | undefined>;
  /** Maximum silence of the other side while it owes an answer. Default: more than an honest guest ever needs. */
  readonly answerMs?: number;
  /** Returns true if the sandbox is frozen on purpose. Its silence is then no failure. */
  readonly isPaused?: () => Promise<boolean>;
  /** Called when a call meets a paused sandbox. Without it, the call rejects with `SANDBOX_PAUSED`. */
  readonly wake?: () => Promise<void>;
}

function ignore(): void {}

/**
 * Connects to a sandbox. If it is paused, calls `wake` and connects again. One that sleeps when it is idle may have fallen asleep before this
 * process, which had to wait for the processor, comes to connect: then again, for as long as a guest may take to answer.
 */
export async function connectAwake(connect: Connect, wake: () => Promise<void>, signal: AbortSignal): Promise<Duplex> {
  const endsAt = performance.now() + ANSWER_MS;
  while (true) {
    try {
      return await connect(signal);
    } catch (cause) {
      const isPaused = cause instanceof BelljarError && cause.code === "SANDBOX_PAUSED";
      if (!isPaused || performance.now() > endsAt) throw cause;
      await wake();
    }
  }
}

/** Opens streams to one sandbox, and tells all open operations when it ends. It subscribes to `ended` once for all operations. */
export class Link implements SandboxLink {
  readonly secret: string | undefined;
  readonly #answerMs: number;
  readonly #options: LinkOptions;
  readonly #env: LinkOptions["env"];
  readonly #connect: Connect;
  readonly #watchesEnd: boolean;
  readonly #findEnd: LinkOptions["findEnd"];
  readonly #waiting = new Set<(end: RunEnd) => void>();
  #end: RunEnd | undefined;
  #life: Promise<Fields> | undefined;
  #isSilent = false;

  constructor(connect: Connect, options: LinkOptions = {}) {
    this.#connect = connect;
    this.secret = options.secret;
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#options = options;
    this.#env = options.env;
    this.#findEnd = options.findEnd;
    this.#watchesEnd = options.ended !== undefined;
    void options.ended?.then((end) => this.#sandboxEnded(end));
  }

  #sandboxEnded(end: RunEnd): void {
    this.#end = end;
    for (const tell of this.#waiting) tell(end);
    this.#waiting.clear();
  }

  onEnd(tell: (end: RunEnd) => void): () => void {
    this.#waiting.add(tell);
    return () => void this.#waiting.delete(tell);
  }

  /** Rejects with `CANCELLED`, or with the error of the `env` function. */
  async env(signal: AbortSignal): Promise<Environment> {
    if (typeof this.#env !== "function") return this.#env ?? {};
    if (signal.aborted) throw cancelled(signal);
    let stop = ignore;
    const aborted = new Promise<never>((_resolve, reject) => {
      stop = () => reject(cancelled(signal));
      signal.addEventListener("abort", stop);
    });
    try {
      return await Promise.race([this.#env(), aborted]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async connect(signal: AbortSignal, operation: number): Promise<Duplex> {
    if (signal.aborted) throw cancelled(signal);
    if (this.#end) throw sandboxEnded(this.#end);
    try {
      const { wake } = this.#options;
      return await (wake && !SLEEPS_ON.has(operation) ? connectAwake(this.#connect, wake, signal) : this.#connect(signal));
    } catch (cause) {
      if (signal.aborted) throw cancelled(signal);
      if (cause instanceof BelljarError) throw cause;
      throw await this.explain(cause);
    }
  }

  async isPaused(): Promise<boolean> {
    return (await this.#options.isPaused?.().catch(() => false)) ?? false;
  }

  standsStill(): Promise<boolean> {
    const answer = this.#ping().then(
      (fields) => fields.number("PHASE") === STANDS_STILL,
      () => false,
    );
    return Promise.race([answer, after(Math.min(STILL_ANSWER_MS, this.#answerMs), false, { ref: false })]);
  }

  async findLife(): Promise<void> {
    await this.#ping();
  }

  #ping(): Promise<Fields> {
    this.#life ??= call(this, OPERATION.PING, [], NEVER).finally(() => {
      this.#life = undefined;
    });
    return this.#life;
  }

  get answerMs(): number {
    return this.#isSilent ? Math.min(SILENT_ANSWER_MS, this.#answerMs) : this.#answerMs;
  }

  heard(isSilent = false): void {
    this.#isSilent = isSilent;
  }

  async explain(cause: unknown): Promise<BelljarError> {
    try {
      const end = (await this.#endSoon()) ?? (await this.#findEnd?.());
      return end ? sandboxEnded(end) : connectionLost(cause);
    } catch (refusal) {
      return refusal instanceof BelljarError ? refusal : connectionLost(cause);
    }
  }

  #endSoon(): Promise<RunEnd | undefined> {
    if (this.#end || !this.#watchesEnd) return Promise.resolve(this.#end);
    return new Promise((resolve) => {
      const stop = this.onEnd((end) => {
        clearTimeout(timer);
        resolve(end);
      });
      const timer = setTimeout(() => {
        stop();
        resolve(undefined);
      }, END_GRACE_MS);
    });
  }
}
