import type { Duplex } from "node:stream";
import type { BelljarError } from "../../errors.ts";
import type { RunEnd } from "./guest-errors.ts";

/** The part of a `Link` that an operation needs. */
export interface SandboxLink {
  readonly secret: string | undefined;
  /** Shorter for a sandbox that was just silent, so that the next calls in line do not wait as long again. */
  readonly answerMs: number;
  /** Rejects with `CANCELLED`, `SANDBOX_ENDED`, `GUEST_PROTOCOL`, or an error of the runtime. */
  connect(signal: AbortSignal, operation: number): Promise<Duplex>;
  /** Calls `tell` once, when the sandbox ends. The returned function unsubscribes. */
  onEnd(tell: (end: RunEnd) => void): () => void;
  /** Notes that the guest has answered, or that it was silent for too long. */
  heard(isSilent?: boolean): void;
  /** Finds out why a stream broke: the sandbox has ended, the caller is refused, or the connection was lost. Never rejects. */
  explain(cause: unknown): Promise<BelljarError>;
  /** Never rejects. Returns false if the state is unknown. */
  isPaused(): Promise<boolean>;
  /** Never rejects. Returns true if the guest says that everything stands still for a STILL. */
  standsStill(): Promise<boolean>;
  /** Resolves when the guest answers a PING, which all waiting callers share. Rejects with `SANDBOX_UNRESPONSIVE`. */
  findLife(): Promise<void>;
}
