import type { Caller } from "../../catalog/caller.ts";
import type { Calls } from "./calls.ts";
import type { HeldCalls } from "./held-calls.ts";
import type { StoredLists } from "./stored-lists.ts";

/** One connection, or one request of a client that keeps none. */
export interface McpConnection {
  readonly caller: Caller;
  readonly calls: Calls;
  /** Absent where every client is older than 2026-07-28. */
  readonly held?: HeldCalls<unknown>;
  readonly lists: StoredLists;
  /** Absent for one request of a client that keeps no connection. */
  readonly id?: string;
  /** The one method that will be asked for, if that is known: the others need no handlers. */
  readonly method?: string;
}
