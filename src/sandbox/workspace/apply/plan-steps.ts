import type { HostEntry } from "../entry.ts";
import { parentKey, toKey } from "../entry.ts";
import type { WorkspaceChange } from "../workspace-change.ts";
import type { Step } from "./apply-journal.ts";

export interface Staged {
  /** Names of what was staged, by key. */
  readonly files: ReadonlyMap<string, { readonly path: Buffer; readonly after: HostEntry }>;
  /** A path in the staging folder for one more file of the host's. */
  nextOld(): Buffer;
}

/** The steps that write these changes: first what makes room, then folders, files and links, then modes, then what goes. */
export function planSteps(changes: readonly WorkspaceChange[], staged: Staged): Step[] {
  const early = toMakeRoom(changes);
  const room = changes.toReversed().flatMap((change) => (early.has(change.key) ? leave(change, staged) : []));
  const written = changes.flatMap((change) => (change.guest?.type === "link" ? [] : write(change, staged)));
  const links = changes.flatMap((change) => (change.guest?.type === "link" ? write(change, staged) : []));
  const modes = changes.toReversed().flatMap(setMode);
  const gone = changes.toReversed().flatMap((change) => (change.kind === "removed" && !early.has(change.key) ? leave(change, staged) : []));
  return [...room, ...written, ...links, ...modes, ...gone];
}

/** What stands where something of another type shall be, with all below it. */
function toMakeRoom(changes: readonly WorkspaceChange[]): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { key, kind } of changes) if (kind === "type_changed" || (kind === "removed" && keys.has(parentKey(key)))) keys.add(key);
  return keys;
}

function leave({ key, host }: WorkspaceChange, staged: Staged): readonly Step[] {
  if (!host) return [];
  return host.type === "directory"
    ? [{ kind: "unmake", key, before: host }]
    : [{ kind: "take", key, old: toKey(staged.nextOld()), before: host }];
}

function write(change: WorkspaceChange, staged: Staged): readonly Step[] {
  const { key, kind, guest } = change;
  if (!guest || kind === "mode_changed") return [];
  if (guest.type === "directory") return [{ kind: "make", key }];
  const file = staged.files.get(key);
  if (!file) throw new Error(`Nothing is staged for ${key}`);
  const room = kind === "modified" ? leave(change, staged) : [];
  return [...room, { kind: "place", key, staged: toKey(file.path), after: file.after }];
}

function setMode({ key, kind, guest, host }: WorkspaceChange): readonly Step[] {
  if (!guest || guest.type === "link") return [];
  if (kind === "mode_changed") return [{ kind: "mode", key, mode: guest.mode, before: host }];
  return guest.type === "directory" ? [{ kind: "mode", key, mode: guest.mode }] : [];
}
