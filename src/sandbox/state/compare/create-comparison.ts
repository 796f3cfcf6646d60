import type { Texts } from "../../../text/texts.ts";
import { diffPoints } from "./diff-points.ts";
import { mergeStates } from "./merge-states.ts";
import type { Comparison } from "./requests.ts";
import { undoPaths } from "./undo-paths.ts";

export function createComparison(texts: Texts): Comparison {
  return {
    diff: (request) => diffPoints({ ...request, texts }),
    undo: undoPaths,
    merge: (request) => mergeStates({ ...request, texts }),
  };
}
