import type { Checkpoint, TimeLineInfo } from "../wire/state-schemas.ts";
import { type StoredCheckpoint, toCheckpoint } from "./stored-checkpoint.ts";

/** The point from which the present line of a sandbox began, and the number of that line. */
export interface Head {
  /** Absent for the line that began with the sandbox. */
  readonly point?: string | undefined;
  readonly line: number;
}

/** A checkpoint and the one before it. */
interface Link {
  readonly stored: StoredCheckpoint;
  readonly parent: string | undefined;
  /** It is the first of its line: the one before it is where that began. */
  readonly isFirst: boolean;
}

/**
 * The time line as it is told. A line begins at a checkpoint that somebody asked for, or with a rollback. The checkpoints on it that nobody
 * asked for follow one another by age, so the rest still hold together when some of them are removed. `checkpoints`: the oldest first.
 */
export function linkTimeLine(checkpoints: readonly StoredCheckpoint[], head: Head): TimeLineInfo {
  const links = linkAll(checkpoints);
  const last = checkpoints.findLast(({ line }) => line === head.line)?.id;
  const now = last ?? head.point;
  const told = [...links.values()].map(({ stored, parent }) => withParent(toCheckpoint(stored), parent));
  return { checkpoints: told, ...(now !== undefined && { head: now }), calls: callsBefore(links, head, last) };
}

function linkAll(checkpoints: readonly StoredCheckpoint[]): ReadonlyMap<string, Link> {
  const lastOf = new Map<number, string>();
  const links = new Map<string, Link>();
  for (const stored of checkpoints) {
    const before = stored.line === undefined ? undefined : lastOf.get(stored.line);
    if (stored.line !== undefined) lastOf.set(stored.line, stored.id);
    links.set(stored.id, { stored, parent: before ?? stored.parent, isFirst: before === undefined });
  }
  return links;
}

/** The latest first. A line that begins at the checkpoint before a call began when that call was taken back. */
function callsBefore(links: ReadonlyMap<string, Link>, head: Head, last: string | undefined): readonly string[] {
  const calls: string[] = [];
  let isBegin = last === undefined;
  let at = links.get(last ?? head.point ?? "");
  for (let left = links.size; at && left > 0; left -= 1) {
    if (at.stored.before !== undefined && !isBegin) calls.push(at.stored.id);
    isBegin = at.isFirst;
    at = links.get(at.parent ?? "");
  }
  return calls;
}

function withParent({ parent: _stored, ...checkpoint }: Checkpoint, parent: string | undefined): Checkpoint {
  return { ...checkpoint, ...(parent !== undefined && { parent }) };
}
