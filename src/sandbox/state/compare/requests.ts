import type { Guest } from "../../../runtime/guest/guest.ts";
import type { StateStore, StateView } from "../../../runtime/contract/state-store.ts";
import type { Texts } from "../../../text/texts.ts";
import type { ChangedPaths, PointDiff } from "../../wire/state-schemas.ts";

interface Asked {
  readonly states: StateStore;
  /** Absolute, inside: only these and what is below them. Absent: all. What programs keep for a while counts only where it is named. */
  readonly paths?: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

export interface DiffRequest extends Asked {
  readonly from: StateView;
  readonly to: StateView;
}

export interface UndoRequest extends Asked {
  /** The point whose contents the paths get. */
  readonly to: StateView;
  /** The sandbox as it is now, which runs. */
  readonly now: StateView;
  readonly guest: Guest;
}

export interface MergeRequest extends Asked {
  /** The last state that both sandboxes had. */
  readonly base: StateView;
  /** The sandbox that is changed, as it is now. It runs. */
  readonly ours: StateView;
  readonly theirs: StateView;
  /** Of the sandbox that is changed. */
  readonly guest: Guest;
}

/** Finds what differs between states, and carries contents from one to a live sandbox. A layer that is removed meanwhile fails it. */
export interface Comparison {
  diff(request: DiffRequest): Promise<PointDiff>;
  undo(request: UndoRequest): Promise<ChangedPaths>;
  merge(request: MergeRequest): Promise<ChangedPaths>;
}

export type WithTexts<Request> = Request & { readonly texts: Texts };
