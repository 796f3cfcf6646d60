import type { Duplex } from "node:stream";
import type { BelljarError } from "../../errors.ts";
import type { SandboxEnd } from "../runtime.ts";

/** What an operation needs of the sandbox that it works in. */
export interface SandboxLink {
  readonly secret: string | undefined;
  /** Less for one that has just been silent: whoever stands in line behind a call must not wait as long again. */
  readonly answerMs: number;
  /** Rejects with `CANCELLED`, `SANDBOX_ENDED`, what the runtime rejects with, or `GUEST_PROTOCOL`. */
  connect(signal: AbortSignal, operation: number): Promise<Duplex>;
  /** Calls back once, when the sandbox ends, until the returned function is called. */
  onEnd(tell: (end: SandboxEnd) => void): () => void;
  /** Somebody answered, or nobody did in time. */
  heard(isSilent?: boolean): void;
  /** Why a stream broke: the sandbox's end when that is told in time. */
  explain(cause: unknown): Promise<BelljarError>;
  /** Never rejects: who cannot say is not paused. */
  isPaused(): Promise<boolean>;
  /** A sign of life, asked for once however many wait for it. Rejects with `SANDBOX_UNRESPONSIVE`. */
  findLife(): Promise<void>;
}
