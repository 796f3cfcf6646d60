import type { Snapshots, TimeLine } from "../sandbox.ts";

/** A time line of which everything is refused. `refuse` rejects with the reason. */
export function refusedTimeLine(refuse: () => Promise<never>): TimeLine {
  return { list: refuse, checkpoint: refuse, rollback: refuse, remove: refuse, diff: refuse, undo: refuse, merge: refuse };
}

/** Snapshots of which everything is refused. `refuse` rejects with the reason. */
export function refusedSnapshots(refuse: () => Promise<never>): Snapshots {
  return { create: refuse, list: refuse, info: refuse, remove: refuse, fork: refuse };
}
