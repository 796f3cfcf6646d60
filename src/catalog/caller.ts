import type { Principal } from "../sandbox/sandbox.ts";
import type { CallClient } from "./question.ts";

/** On whose behalf tools are listed and called. */
export interface Caller {
  readonly principal: Principal;
  /** The name of the caller's default sandbox, as its transport gave it. */
  readonly defaultName?: string;
  /** Absent if the transport's client does not wait for an answer. */
  readonly client?: CallClient;
}

/** Called after a change, with the id of the principal whose view changed. Called without an id if everybody's view may have changed. */
export type ChangeListener = (ownerId?: string) => void;

/** Whether a change that a `ChangeListener` was told is one that the principal may know of. */
export function concerns(ownerId: string | undefined, { id }: Principal): boolean {
  return ownerId === undefined || ownerId === id;
}
