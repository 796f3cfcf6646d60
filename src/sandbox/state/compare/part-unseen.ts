import type { StateChange } from "../../../runtime/contract/state-store.ts";
import { fromKey, showPath } from "../../workspace/entry.ts";
import type { ChangedPaths } from "../../wire/state-schemas.ts";

/** Nobody has looked into such a folder: it is named, and left as it is with all that lies above it and would go. */
export function partUnseen<Write extends { readonly key: string; readonly wanted?: unknown }>(
  changes: Iterable<readonly [string, StateChange]>,
  writes: readonly Write[],
): { readonly unseen: ChangedPaths["conflicts"]; readonly rest: readonly Write[] } {
  const deep = [...changes].flatMap(([key, { isUnseen }]) => (isUnseen ? [key] : [])).toSorted();
  const deepKeys = new Set(deep);
  const holds = ({ key, wanted }: Write): boolean => deepKeys.has(key) || (wanted === undefined && hasBelow(deep, key));
  return {
    unseen: deep.map((key) => ({ path: showPath(fromKey(key)), reason: "it lies too deep to look at what is in it: change it by hand" })),
    rest: deep.length === 0 ? writes : writes.filter((write) => !holds(write)),
  };
}

/** Whether one of the ordered keys lies below a folder. There may be as many of both as a sandbox likes. */
function hasBelow(ordered: readonly string[], folder: string): boolean {
  const prefix = `${folder}/`;
  let [from, to] = [0, ordered.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ordered[middle] ?? "") < prefix) from = middle + 1;
    else to = middle;
  }
  return ordered[from]?.startsWith(prefix) ?? false;
}
