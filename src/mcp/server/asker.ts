import type { CallLogLevel, Progress } from "../../catalog/tool.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { ClientChannel } from "./client-channel.ts";

/** Whoever asks for a resource, a prompt or a completion, and through which client. */
export interface Asker {
  readonly principal: Principal;
  /** The same for all that one session or connection asks. Absent for a client that keeps none. */
  readonly clientId?: string;
  /** Absent where no client waits for an answer. */
  readonly client?: ClientChannel;
  /** Aborts when the client gives up. */
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  readonly log?: (level: CallLogLevel, data: unknown, logger?: string) => void;
}

/** Values for something that somebody is typing. The answer to a client holds the first 100. */
export interface Completion {
  readonly values: readonly string[];
  /** Of all that there are; absent: those are all. */
  readonly total?: number;
  readonly hasMore?: boolean;
}
