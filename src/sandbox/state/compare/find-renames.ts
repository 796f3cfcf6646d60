import type { StateChange, StateStore, StateView } from "../../../runtime/contract/state-store.ts";
import { hashOf } from "../../workspace/compare-content.ts";
import { readIfThere } from "./read-if-there.ts";

/** Each file is read from a state by a process of its own. */
const FILES_MAX = 64;
const FILE_MAX_BYTES = 4 * 1024 * 1024;
const TOTAL_MAX_BYTES = 32 * 1024 * 1024;

export interface RenameSources {
  readonly states: StateStore;
  readonly from: StateView;
  readonly to: StateView;
  readonly signal: AbortSignal;
}

/**
 * Which added file was which removed one, by their keys: they hold the same bytes, and no other file that went or came does. Empty files say
 * nothing. Past a bound no further ones are looked for.
 */
export async function findRenames(sources: RenameSources, changes: ReadonlyMap<string, StateChange>): Promise<ReadonlyMap<string, string>> {
  const groups = new Map<string, { readonly gone: string[]; readonly come: string[] }>();
  let [files, bytes] = [0, 0];
  for (const [key, change] of ofSharedSize(changes)) {
    const { size } = sizeOf(change);
    files += 1;
    bytes += size;
    if (files > FILES_MAX || bytes > TOTAL_MAX_BYTES) break;
    const content = await readIfThere(sources.states, change.before ? sources.from : sources.to, { path: change.path, maxBytes: size, signal: sources.signal }); // prettier-ignore
    if (content?.length !== size) continue;
    const hash = hashOf(content);
    const group = groups.get(hash) ?? { gone: [], come: [] };
    groups.set(hash, group);
    (change.before ? group.gone : group.come).push(key);
  }
  const pairs = [...groups.values()].flatMap(({ gone, come }) => (gone.length === 1 && come.length === 1 ? [[come[0], gone[0]]] : []));
  return new Map(pairs as [string, string][]);
}

function sizeOf({ before, after }: StateChange): { readonly size: number } {
  return before ?? after ?? { size: 0 };
}

/** Files that went and files that came, of sizes that both have; the pairs of one size stand together. */
function ofSharedSize(changes: ReadonlyMap<string, StateChange>): readonly (readonly [string, StateChange])[] {
  const bySize = new Map<number, { readonly entries: (readonly [string, StateChange])[]; hasGone: boolean; hasCome: boolean }>();
  for (const [key, change] of changes) {
    const { size } = sizeOf(change);
    const isOneSided = (change.before === undefined) !== (change.after === undefined);
    if (!isOneSided || (change.before ?? change.after)?.type !== "file" || size === 0 || size > FILE_MAX_BYTES) continue;
    const same = bySize.get(size) ?? { entries: [], hasGone: false, hasCome: false };
    bySize.set(size, same);
    same.entries.push([key, change]);
    if (change.before) same.hasGone = true;
    else same.hasCome = true;
  }
  return [...bySize.values()].flatMap(({ entries, hasGone, hasCome }) => (hasGone && hasCome ? entries : []));
}
