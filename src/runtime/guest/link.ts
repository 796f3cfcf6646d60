import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { SandboxEnd } from "../runtime.ts";
import { cancelled, connectionLost, sandboxEnded } from "./guest-errors.ts";

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
}

function ignore(): void {}

/** Opens streams to one sandbox, and tells all that waits on it when it ends. One reaction to `ended`, however many operations. */
export class Link {
  readonly secret: string | undefined;
  readonly #env: LinkOptions["env"];
  readonly #connect: Connect;
  readonly #watchesEnd: boolean;
  readonly #findEnd: LinkOptions["findEnd"];
  readonly #waiting = new Set<(end: SandboxEnd) => void>();
  #end: SandboxEnd | undefined;

  constructor(connect: Connect, options: LinkOptions = {}) {
    this.#connect = connect;
    this.secret = options.secret;
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

  /** Calls back once, when the sandbox ends, until the returned function is called. */
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

  /** Rejects with `CANCELLED`, `SANDBOX_ENDED`, what the runtime rejects with, or `GUEST_PROTOCOL`. */
  async connect(signal: AbortSignal): Promise<Duplex> {
    if (signal.aborted) throw cancelled(signal);
    if (this.#end) throw sandboxEnded(this.#end);
    try {
      return await this.#connect(signal);
    } catch (cause) {
      if (signal.aborted) throw cancelled(signal);
      if (cause instanceof BelljarError) throw cause;
      throw await this.explain(cause);
    }
  }

  /** Why a stream broke: the sandbox's end when that is told in time. */
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
