import type { StateChange, StateEntry, StateView } from "../../../runtime/contract/state-store.ts";
import { diffSides, isText } from "../../text-sides.ts";
import { fromKey, showPath } from "../../workspace/entry.ts";
import type { PointChange, PointDiff } from "../../wire/state-schemas.ts";
import { collectChanges } from "./collect-changes.ts";
import { findRenames } from "./find-renames.ts";
import { readIfThere } from "./read-if-there.ts";
import type { DiffRequest, WithTexts } from "./requests.ts";
import { selectStatePaths } from "./select-state-paths.ts";

/** Further changes are counted. */
const SHOWN_MAX = 2_000;
/** Further changes are named, without their text. */
const PATCHES_MAX = 100;
const FILE_MAX_BYTES = 256 * 1024;
const TOTAL_MAX_BYTES = 8 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/** What differs between two points, ordered by path, with the texts of what changed up to a bound. */
export async function diffPoints(request: WithTexts<DiffRequest>): Promise<PointDiff> {
  const { states, from, to, paths, signal } = request;
  const isSelected = selectStatePaths(paths, to.sandbox);
  const { changes, omitted } = await collectChanges(from, to, { states, isSelected, signal });
  const renames = await findRenames({ states, from, to, signal }, changes);
  const renamed = new Set(renames.values());
  const told = [...changes].filter(([key]) => !renamed.has(key));
  const patches = new Patches(request);
  const shown: PointChange[] = [];
  for (const [key, change] of told.slice(0, SHOWN_MAX)) {
    const old = renames.get(key);
    const patch = old === undefined ? await patches.of(change) : undefined;
    shown.push({
      path: showPath(fromKey(key)),
      ...describe(change),
      ...(old !== undefined && { kind: "renamed", from: showPath(fromKey(old)) }),
      ...(patch !== undefined && { patch }),
    });
  }
  return { changes: shown, omitted: omitted + told.length - shown.length };
}

function describe({ before, after }: StateChange): Pick<PointChange, "kind" | "type"> {
  if (after) return { kind: before ? "changed" : "added", type: after.type };
  return { kind: "removed", type: before?.type ?? "other" };
}

/** The texts of changes, as long as the bounds of all together allow. */
class Patches {
  readonly #request: WithTexts<DiffRequest>;
  #count = 0;
  #bytes = 0;

  constructor(request: WithTexts<DiffRequest>) {
    this.#request = request;
  }

  async of(change: StateChange): Promise<string | undefined> {
    const bytes = fileBytes(change.before) + fileBytes(change.after);
    const isFile = change.before?.type === "file" || change.after?.type === "file";
    const isLarge = Math.max(fileBytes(change.before), fileBytes(change.after)) > FILE_MAX_BYTES;
    if (!isFile || isLarge || this.#count >= PATCHES_MAX || this.#bytes + bytes > TOTAL_MAX_BYTES) return undefined;
    this.#count += 1;
    this.#bytes += bytes;
    return this.#patch(change);
  }

  async #patch({ path, before, after }: StateChange): Promise<string | undefined> {
    const { from, to, texts, signal } = this.#request;
    const [old, now] = await Promise.all([this.#read(from, path, before), this.#read(to, path, after)]);
    if (!old || !now || !isText(old) || !isText(now)) return undefined;
    const name = showPath(path.subarray(1));
    const patch = await diffSides(texts, { from: `a/${name}`, to: `b/${name}`, before: old, after: now }, { owner: to.sandbox.id, signal });
    return patch === "" ? undefined : patch;
  }

  async #read(view: StateView, path: Buffer, entry: StateEntry | undefined): Promise<Buffer | undefined> {
    if (entry?.type !== "file" || entry.size === 0) return NOTHING;
    return readIfThere(this.#request.states, view, { path, maxBytes: FILE_MAX_BYTES, signal: this.#request.signal });
  }
}

function fileBytes(entry: StateEntry | undefined): number {
  return entry?.type === "file" ? entry.size : 0;
}
