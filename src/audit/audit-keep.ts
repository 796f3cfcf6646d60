import { readdir, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ifPresent } from "../files/file-error.ts";
import type { IndexEntry, Removal } from "./index-state.ts";
import type { SegmentIndex } from "./segment-index.ts";

/** How long, and up to which size, the audit is kept. */
export interface AuditKeep {
  /** Minimum age of a line before it is removed. Lines are removed soon after. */
  readonly ageMs: number;
  /** Maximum size of all segments together. Beyond it, the oldest segments are removed early. */
  readonly bytes: number;
}

const MIB = 1_048_576;
const DAY_MS = 86_400_000;
export const DEFAULT_KEEP: AuditKeep = { ageMs: 90 * DAY_MS, bytes: 4096 * MIB };

/** A segment accepts lines for this time. */
export const SEGMENT_MS = DAY_MS;
const SEGMENT_MAX_BYTES = 16 * MIB;
const SEGMENTS_MAX = 10_000;
/** Maximum size that a segment counts with. A segment that somebody enlarges from outside does not displace the others. */
const COUNTED_MAX_BYTES = 4 * SEGMENT_MAX_BYTES;
/** A process that is killed while it begins a segment leaves a file with at most one line, which the index does not know. */
const BEGUN_KEPT_MS = DAY_MS;
const BEGUN_MAX_BYTES = 1_024;

/** Size at which a segment is full. */
export function segmentBytes({ bytes }: AuditKeep): number {
  return Math.min(SEGMENT_MAX_BYTES, Math.ceil(bytes / 8));
}

export interface Keeping {
  /** The folder of the segments. */
  readonly folder: string;
  readonly index: SegmentIndex;
  readonly keep: AuditKeep;
  /** The segment that this process is writing. */
  readonly own: string | undefined;
  readonly nowMs: number;
}

/**
 * Removes segments beyond the age or the size, the oldest first. Each removal is noted in the index before it happens. The age of a
 * segment comes from its name in the index, because anybody can change the times of a file.
 */
export async function keepSegments(keeping: Keeping): Promise<readonly ({ readonly file: string } & Removal)[]> {
  const { index, nowMs } = keeping;
  const state = await index.read();
  const surplus = await findSurplus(keeping, state.entries);
  for (const { entry, why } of surplus) await index.noteRemoval(entry, { atMs: nowMs, why });
  await removeBegun(keeping, new Set(state.entries.map(({ file }) => file)));
  await finishRemovals(keeping);
  return surplus.map(({ entry, why }) => ({ file: entry.file, why, atMs: nowMs }));
}

/** Removes all noted segments, even those that a killed process noted. A segment is removed before its index entry. */
async function finishRemovals({ folder, index, nowMs }: Keeping): Promise<void> {
  const noted = await index.read();
  for (const { file, removed } of noted.entries) if (removed) await ifPresent(folder, rm(join(folder, file), { force: true }));
  await index.fold(noted, nowMs);
}

interface Surplus {
  readonly entry: IndexEntry;
  readonly why: Removal["why"];
}

async function findSurplus({ folder, keep, own, nowMs }: Keeping, entries: readonly IndexEntry[]): Promise<readonly Surplus[]> {
  const living = entries.filter(({ removed, file }) => !removed && file !== own);
  const sizes = await Promise.all(living.map(({ file }) => sizeOf(join(folder, file))));
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  let count = living.length;
  return living.flatMap((entry, position): readonly Surplus[] => {
    const isOld = nowMs - begunAt(entry.file) > keep.ageMs + SEGMENT_MS;
    const isMuch = bytes > keep.bytes - segmentBytes(keep) || count > SEGMENTS_MAX;
    if (!isOld && !isMuch) return [];
    bytes -= sizes[position] ?? 0;
    count -= 1;
    return [{ entry, why: isOld ? "age" : "size" }];
  });
}

async function sizeOf(path: string): Promise<number> {
  const found = await ifPresent(path, stat(path));
  return Math.min(COUNTED_MAX_BYTES, (found?.blocks ?? 0) * 512);
}

async function removeBegun({ folder, nowMs }: Keeping, known: ReadonlySet<string>): Promise<void> {
  const names = (await ifPresent(folder, readdir(folder))) ?? [];
  for (const name of names.filter((one) => one.endsWith(".jsonl") && !known.has(one) && nowMs - begunAt(one) > BEGUN_KEPT_MS)) {
    const path = join(folder, name);
    const found = await ifPresent(path, stat(path));
    if (found && found.size <= BEGUN_MAX_BYTES) await ifPresent(path, unlink(path));
  }
}

/** Reads the milliseconds since 1970 from the name. Returns NaN for a name of another shape. */
function begunAt(file: string): number {
  const [, year, month, day, hour, minute, second, ms] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-/.exec(file) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}
