import type { StateChange, StateStore, StateView } from "../../../runtime/contract/state-store.ts";
import { BelljarError } from "../../../errors.ts";
import { toKey } from "../../workspace/entry.ts";
import type { IsSelected } from "./select-state-paths.ts";

/** More are too many to be held at once. */
const CHANGES_MAX = 100_000;
/** Of their names, texts of links and extended attributes. */
const TEXTS_MAX_BYTES = 64 * 1024 * 1024;

export interface Collecting {
  readonly states: StateStore;
  readonly isSelected: IsSelected;
  readonly signal: AbortSignal;
}

export interface Collected {
  /** By path, ordered: a folder comes before what is in it. */
  readonly changes: ReadonlyMap<string, StateChange>;
  /** Further ones. */
  readonly omitted: number;
}

/** What differs between two states. A live one may name a path twice: the later answer holds. */
export async function collectChanges(from: StateView, to: StateView, { states, isSelected, signal }: Collecting): Promise<Collected> {
  const found = new Map<string, StateChange>();
  let [bytes, omitted] = [0, 0];
  for await (const change of states.compare(from, to, signal)) {
    const key = toKey(change.path);
    if (!isSelected(key)) continue;
    const taken = bytesOf(key, change);
    const earlier = found.get(key);
    const hasRoom = found.size < CHANGES_MAX && bytes + taken <= TEXTS_MAX_BYTES;
    if (!hasRoom && !earlier) omitted += 1;
    else {
      bytes += taken - (earlier ? bytesOf(key, earlier) : 0);
      found.set(key, change);
    }
  }
  return { changes: new Map([...found].toSorted(([one], [other]) => (one < other ? -1 : 1))), omitted };
}

function bytesOf(key: string, { before, after }: StateChange): number {
  const attributes = [...(before?.attributes ?? []), ...(after?.attributes ?? [])];
  const texts = key.length + (before?.target?.length ?? 0) + (after?.target?.length ?? 0);
  return attributes.reduce((bytes, [name, value]) => bytes + name.length + value.length, texts);
}

/** The same for who must know all. Rejects with `FILE_TOO_LARGE`. */
export async function collectAllChanges(from: StateView, to: StateView, collecting: Collecting): Promise<Collected["changes"]> {
  const { changes, omitted } = await collectChanges(from, to, collecting);
  if (omitted === 0) return changes;
  throw new BelljarError("FILE_TOO_LARGE", `More than ${changes.size} paths differ: name some of them, or roll back as a whole`);
}
