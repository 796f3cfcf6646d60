import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { OPERATION } from "../../protocol/wire.ts";
import type { SandboxEnd } from "../runtime.ts";
import { call } from "./call.ts";
import { cancelled, connectionLost, sandboxEnded } from "./guest-errors.ts";
import { ANSWER_MS } from "./patience.ts";
import type { SandboxLink } from "./sandbox-link.ts";

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
/** Neither what the host holds ready for programs inside nor a look at how a sandbox is wakes a paused one. */
const SLEEPS_ON: ReadonlySet<number> = new Set([OPERATION.LISTEN, OPERATION.ACCEPT, OPERATION.PING]);

const SILENT_ANSWER_MS = 3_000;

/** How long a broken stream waits to be told that the sandbox ended, and why. */
const END_GRACE_MS = 2_000;

export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export type Environment = Readonly<Record<string, string>>;

export interface LinkOptions {
  readonly secret?: string;
  /** Below each exec's own variables. A function is asked before each exec, which waits for its answer and fails with it. */
  readonly env?: Environment | (() => Environment | Promise<Environment>);
  readonly ended?: Promise<SandboxEnd>;
  /** Asked when a stream broke, by a connection that nobody tells of the end. Never rejects. */
  readonly findEnd?: () => Promise<SandboxEnd | undefined>;
  /** How long the other side may owe a word. Default: what an honest guest never needs. */
  readonly answerMs?: number;
  /** Whether the sandbox is frozen on purpose: then nobody's silence counts. */
  readonly isPaused?: () => Promise<boolean>;
  /** Called when a call meets a paused sandbox; without it the call rejects with `SANDBOX_PAUSED`. */
  readonly wake?: () => Promise<void>;
}

function ignore(): void {}

/** Connects to a sandbox that `wake` wakes first when it is paused. */
export async function connectAwake(connect: Connect, wake: () => Promise<void>, signal: AbortSignal): Promise<Duplex> {
  try {
    return await connect(signal);
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "SANDBOX_PAUSED")) throw cause;
    await wake();
    return connect(signal);
  }
}

/** Opens streams to one sandbox, and tells all that waits on it when it ends. One reaction to `ended`, however many operations. */
export class Link implements SandboxLink {
  readonly secret: string | undefined;
  readonly #answerMs: number;
  readonly #options: LinkOptions;
  readonly #env: LinkOptions["env"];
  readonly #connect: Connect;
  readonly #watchesEnd: boolean;
  readonly #findEnd: LinkOptions["findEnd"];
  readonly #waiting = new Set<(end: SandboxEnd) => void>();
  #end: SandboxEnd | undefined;
  #life: Promise<void> | undefined;
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

  #sandboxEnded(end: SandboxEnd): void {
    this.#end = end;
    for (const tell of this.#waiting) tell(end);
    this.#waiting.clear();
  }

  onEnd(tell: (end: SandboxEnd) => void): () => void {
    this.#waiting.add(tell);
    return () => void this.#waiting.delete(tell);
  }

  /** Rejects with `CANCELLED`, or with what the asked function rejects with. */
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

  findLife(): Promise<void> {
    this.#life ??= call(this, OPERATION.PING, [], NEVER)
      .then(ignore)
      .finally(() => {
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
    const end = (await this.#endSoon()) ?? (await this.#findEnd?.());
    return end ? sandboxEnded(end) : connectionLost(cause);
  }

  #endSoon(): Promise<SandboxEnd | undefined> {
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
