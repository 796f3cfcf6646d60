import { BelljarError } from "../../errors.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { StateStore, StateView } from "../../runtime/runtime.ts";
import type { Texts } from "../../text/texts.ts";
import type { ChangedPaths, PointDiff } from "../wire/state-schemas.ts";

interface Asked {
  readonly states: StateStore;
  /** Absolute, inside: only these and what is below them. Absent: all. */
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

/** Loads what compares with the first request: most processes never compare. Without `texts` everything is refused. */
export function lateComparison(texts: Texts | undefined): Comparison {
  const load = async (): Promise<Comparison> => {
    if (!texts)
      throw new BelljarError("NOT_SUPPORTED", "These sandboxes were opened without `texts`, which compare files: roll back as a whole");
    const { createComparison } = await import("./compare/create-comparison.ts");
    return createComparison(texts);
  };
  return {
    diff: async (request) => (await load()).diff(request),
    undo: async (request) => (await load()).undo(request),
    merge: async (request) => (await load()).merge(request),
  };
}
