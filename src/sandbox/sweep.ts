import type { Journal, JournalEntry } from "./journal.ts";
import type { HomeStates } from "./state/home-states.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { SandboxEnd } from "../runtime/contract/run.ts";
import type { PoolFiles } from "./pool/pool-files.ts";
import { mapLimit } from "../async/map-limit.ts";

const PARALLEL = 8;
/** One-shot programs leave one each: the oldest go first, though their time has not come. */
const TOMBSTONES_MAX = 10_000;

export interface Sweep {
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  readonly states: Pick<HomeStates, "sweep">;
  readonly waiting: PoolFiles;
  readonly report: (problem: string) => void;
  readonly retentionMs: number;
  readonly now: number;
}

/**
 * Gives every dead sandbox its tombstone, and removes tombstones past their time and folders that no record explains.
 * What cannot be cleared is reported and tried again by the next sweep. What this process has seen end is cleared when it resolves.
 * Any number of processes may sweep at once.
 */
export async function sweepHome(sweep: Sweep): Promise<void> {
  await sweep.live.ends.buried();
  await sweep.journal.removeUnfinished(sweep.now);
  const ends = await mapLimit(await sweep.journal.ids(), PARALLEL, (id) => sweepReported(sweep, id));
  const kept = ends.flatMap((end) => end ?? []).toSorted((one, other) => other.at.getTime() - one.at.getTime());
  await mapLimit(kept.slice(TOMBSTONES_MAX), PARALLEL, ({ id }) => sweep.journal.remove(id));
  await mapLimit(await sweep.live.networks.ids(), PARALLEL, (id) => sweepNetwork(sweep, id));
  await sweep.states.sweep();
  await sweep.waiting.sweep(async (id) => (await sweep.journal.changedAt(id)) !== undefined);
}

/** A change that came as its sandbox ended, or whose remover was killed. */
async function sweepNetwork({ journal, live }: Sweep, id: string): Promise<void> {
  const entry = await journal.read(id);
  const isGone = entry ? entry.end !== undefined : (await journal.changedAt(id)) === undefined;
  if (isGone) await live.networks.remove(id);
}

interface KeptEnd {
  readonly id: string;
  readonly at: Date;
}

async function sweepReported(sweep: Sweep, id: string): Promise<KeptEnd | undefined> {
  try {
    return await sweepOne(sweep, id);
  } catch (cause) {
    sweep.report(`Sandbox ${id} cannot be cleared yet: ${String(cause)}`);
    return undefined;
  }
}

/** The end of one that is wholly cleared and kept. */
async function sweepOne(sweep: Sweep, id: string): Promise<KeptEnd | undefined> {
  const entry = await sweep.journal.read(id);
  if (!entry) return sweepUnknown(sweep, id);
  const end = entry.end?.isCleared ? entry.end : await settleDead(sweep, entry);
  if (!end) return undefined;
  if (sweep.now - end.at.getTime() <= sweep.retentionMs) return { id, at: end.at };
  await sweep.journal.remove(id);
  return undefined;
}

/** A stopped sandbox has not ended. */
async function settleDead({ live }: Sweep, { record }: JournalEntry): Promise<SandboxEnd | undefined> {
  if (!live.isOurs(record) || live.held(record.id)) return undefined;
  const settled = await live.ends.settle(record);
  return settled?.kept ? undefined : settled;
}

/** A corrupt record is kept as long as a tombstone. With the files that a stop promised to keep it stays until a person has looked. */
async function sweepUnknown({ journal, live, waiting, report, retentionMs, now }: Sweep, id: string): Promise<undefined> {
  if (waiting.isInTheMaking(id, now)) return undefined;
  const end = await live.ends.clearUnknown(id);
  if (end?.kept) report(lostRecord(id, journal.folder(id)));
  const changedAt = await journal.changedAt(id);
  if (!end || end.kept || !changedAt) return undefined;
  if (!(await journal.hasRecord(id)) || now - changedAt.getTime() > retentionMs) await journal.remove(id);
  return undefined;
}

function lostRecord(id: string, folder: string): string {
  return `Sandbox ${id} is stopped and its record is lost, so its files are left alone: restore ${folder}/sandbox.json from a backup, or save the files and remove that folder`;
}
