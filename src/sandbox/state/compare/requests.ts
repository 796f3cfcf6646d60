import type { Guest } from "../../../runtime/guest/guest.ts";
import type { StateStore, StateView } from "../../../runtime/runtime.ts";
import type { Texts } from "../../../text/texts.ts";

export interface CompareSources {
  readonly states: StateStore;
  readonly texts: Texts;
  readonly signal: AbortSignal;
}

export interface DiffRequest extends CompareSources {
  readonly from: StateView;
  readonly to: StateView;
  /** Absolute, inside: only these and what is below them. Absent: all but what programs keep for a while. */
  readonly paths?: readonly string[] | undefined;
}

export interface UndoRequest extends CompareSources {
  /** Whose contents the paths get. */
  readonly to: StateView;
  /** The sandbox as it is now, which runs. */
  readonly now: StateView;
  readonly guest: Guest;
  readonly paths?: readonly string[] | undefined;
}

export interface MergeRequest extends CompareSources {
  /** The last state that both sandboxes had. */
  readonly base: StateView;
  /** The sandbox that is changed, as it is now. It runs. */
  readonly ours: StateView;
  readonly theirs: StateView;
  /** Of the sandbox that is changed. */
  readonly guest: Guest;
  readonly paths?: readonly string[] | undefined;
}
