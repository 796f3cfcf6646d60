import { mayBeInTheMaking } from "./creator.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { SandboxEnd } from "../runtime/runtime.ts";
import { mapLimit } from "./map-limit.ts";

const PARALLEL = 8;

export interface Sweep {
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  readonly report: (problem: string) => void;
  readonly retentionMs: number;
  readonly now: number;
}

/**
 * Gives every dead sandbox its tombstone, and removes tombstones past their time and folders that no record explains.
 * What cannot be cleared is reported and tried again by the next sweep. Any number of processes may sweep at once.
 */
export async function sweepHome(sweep: Sweep): Promise<void> {
  await sweep.journal.removeUnfinished(sweep.now);
  await mapLimit(await sweep.journal.ids(), PARALLEL, (id) => sweepReported(sweep, id));
}

async function sweepReported(sweep: Sweep, id: string): Promise<void> {
  try {
    await sweepOne(sweep, id);
  } catch (cause) {
    sweep.report(`Sandbox ${id} cannot be cleared yet: ${String(cause)}`);
  }
}

async function sweepOne(sweep: Sweep, id: string): Promise<void> {
  const entry = await sweep.journal.read(id);
  if (!entry) return sweepUnknown(sweep, id);
  const end = entry.end?.isCleared ? entry.end : await settleDead(sweep, entry);
  if (end && sweep.now - end.at.getTime() > sweep.retentionMs) await sweep.journal.remove(id);
}

async function settleDead({ live, now }: Sweep, { record, end }: JournalEntry): Promise<SandboxEnd | undefined> {
  if (!live.isOurs(record) || live.held(record.id) || (!end && mayBeInTheMaking(record, now))) return undefined;
  return live.settle(record);
}

/** A folder without a record was being removed when its process died. A corrupt record is kept as long as a tombstone. */
async function sweepUnknown({ journal, live, retentionMs, now }: Sweep, id: string): Promise<void> {
  const end = await live.clearUnknown(id);
  const changedAt = await journal.changedAt(id);
  if (!end || !changedAt) return;
  if (!(await journal.hasRecord(id)) || now - changedAt.getTime() > retentionMs) await journal.remove(id);
}
