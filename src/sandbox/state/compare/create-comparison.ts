import type { Texts } from "../../../text/texts.ts";
import type { ChangedPaths, PointDiff } from "../../wire/state-schemas.ts";
import { diffPoints } from "./diff-points.ts";
import { mergeStates } from "./merge-states.ts";
import type { DiffRequest, MergeRequest, UndoRequest } from "./requests.ts";
import { undoPaths } from "./undo-paths.ts";

type Asked<Request> = Omit<Request, "texts">;

/** Finds what differs between states, and carries contents from one to a live sandbox. */
export interface StateComparison {
  diff(request: Asked<DiffRequest>): Promise<PointDiff>;
  undo(request: Asked<UndoRequest>): Promise<ChangedPaths>;
  merge(request: Asked<MergeRequest>): Promise<ChangedPaths>;
}

export function createComparison(texts: Texts): StateComparison {
  return {
    diff: (request) => diffPoints({ ...request, texts }),
    undo: (request) => undoPaths({ ...request, texts }),
    merge: (request) => mergeStates({ ...request, texts }),
  };
}
