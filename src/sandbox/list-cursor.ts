import { createHash } from "node:crypto";
import { BelljarError } from "../errors.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { reachOf } from "./reach.ts";
import type { ListFilter, Principal } from "./sandbox.ts";

/** A place in a list that goes from the newest sandbox to the oldest. */
export type Position = Pick<SandboxRecord, "createdAt" | "id">;

const CURSOR = /^([0-9]{1,15})\.([a-z0-9]{20})\.([0-9a-f]{16})$/;
const CURSOR_MAX_CHARACTERS = 64;

/** Whose list it is, and of what: a cursor is good for one list. */
export interface ListKind {
  readonly principal: Principal;
  readonly filter: ListFilter;
}

/** Negative when `one` comes first. The newest is first; sandboxes of one moment are in the order of their ids. */
export function comparePositions(one: Position, other: Position): number {
  const byTime = other.createdAt.getTime() - one.createdAt.getTime();
  return byTime === 0 ? Number(one.id > other.id) - Number(one.id < other.id) : byTime;
}

/** Names the place behind a sandbox. It stays good whatever is made or removed meanwhile. */
export function toCursor({ createdAt, id }: Position, kind: ListKind): string {
  return `${createdAt.getTime()}.${id}.${digestOf(kind)}`;
}

/** Throws `ARGUMENTS_INVALID` for a text that is no cursor of this list. */
export function parseCursor(cursor: string, kind: ListKind): Position {
  const [, createdMs, id, digest] = (cursor.length <= CURSOR_MAX_CHARACTERS && CURSOR.exec(cursor)) || [];
  if (createdMs !== undefined && id !== undefined && digest === digestOf(kind)) return { createdAt: new Date(Number(createdMs)), id };
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    "The cursor is not of this list: give one with the filter that it came with, or list from the start",
  );
}

function digestOf({ principal, filter: { state, metadata = {} } }: ListKind): string {
  const labels = Object.entries(metadata).toSorted(([one], [other]) => Number(one > other) - Number(one < other));
  const text = JSON.stringify([reachOf(principal), state?.toSorted() ?? null, labels]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
