import type { CallClient } from "../../../catalog/question.ts";
import type { CallLogLevel, Progress } from "../../../catalog/tool.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";

/** On whose behalf a server is asked, and what can be told and asked meanwhile. */
export interface RelayContext {
  readonly principal: Principal;
  /** The same for all calls of one session or connection. Absent for a client that keeps none. */
  readonly clientId?: string;
  /** Absent where no client waits for an answer. */
  readonly client?: CallClient;
  /** Aborts when the caller gives up. */
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  readonly log?: (level: CallLogLevel, data: unknown, logger?: string) => void;
}

/** Two callers, or two clients of one, never share an instance. */
export function keyOf({ principal, clientId }: Pick<RelayContext, "principal" | "clientId">): string {
  return JSON.stringify([principal.id, clientId ?? null]);
}

/** The key of the one instance of a server whose callers share it. */
export const SHARED = "shared";

/** Gives the key of a caller's instance of a server. */
export type KeyOf = (context: Pick<RelayContext, "principal" | "clientId">) => string;

/** Whose instance that is: the same for all clients of a caller. */
export function holderOf(key: string): string {
  const parsed: unknown = key.startsWith("[") ? JSON.parse(key) : undefined;
  return Array.isArray(parsed) ? String(parsed[0]) : key;
}
