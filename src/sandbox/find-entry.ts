import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { comparePositions } from "./list-cursor.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import { mayReach } from "./reach.ts";
import { nameTaken, unknown } from "./refusals.ts";
import { isIdStart, isSandboxId, isSandboxName, isShortId } from "./sandbox-id.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Principal } from "./sandbox.ts";

/** How many folders are looked at together. */
const PARALLEL = 16;
const CANDIDATES_SHOWN = 5;

export interface Records {
  readonly journal: Pick<Journal, "read" | "records" | "ids">;
  readonly live: Pick<LiveSandboxes, "held" | "findLife">;
}

/**
 * What is written of the sandbox of that id, name or beginning of an id. One that the principal may not reach and none are the same
 * answer. A name goes before a beginning of an id, and a sandbox that lives before those that have ended. Rejects with
 * `ARGUMENTS_INVALID` if the text may mean several.
 */
export async function findEntry(records: Records, principal: Principal, text: string): Promise<JournalEntry> {
  const held = records.live.held(text);
  const entry = held ? { record: held.record } : await readEntry(records, principal, text);
  if (entry && mayReach(principal, entry.record)) return entry;
  throw unknown(text);
}

async function readEntry(records: Records, principal: Principal, text: string): Promise<JournalEntry | undefined> {
  if (isSandboxId(text)) return records.journal.read(text);
  const named = await findNamed(records, principal, text);
  // People are shown short ids: a name must not stand in the place of one.
  if (named && !isShortId(text)) return named;
  const begun = (await findBegun(records, principal, text)).filter(({ record }) => record.id !== named?.record.id);
  const found = named ? [named, ...begun] : begun;
  if (found.length > 1) throw ambiguous(text, found);
  return found[0];
}

/** The one that lives, else the newest of those that have ended. */
async function findNamed(records: Records, principal: Principal, name: string): Promise<JournalEntry | undefined> {
  if (!isSandboxName(name)) return undefined;
  const entries = await readAll(records, await idsNamed(records, name, (record) => mayReach(principal, record)));
  const [newest] = entries.toSorted((a, b) => comparePositions(a.record, b.record));
  for (const entry of entries) if (await holdsName(records, entry)) return entry;
  return newest;
}

/** Those that live, else those that have ended. */
async function findBegun({ journal }: Records, principal: Principal, start: string): Promise<readonly JournalEntry[]> {
  if (!isIdStart(start)) return [];
  const ids = (await journal.ids()).filter((id) => id.startsWith(start));
  const entries = (await readAll({ journal }, ids)).filter(({ record }) => mayReach(principal, record));
  const live = entries.filter(({ end }) => !end);
  return live.length > 0 ? live : entries;
}

/**
 * Rejects with `SANDBOX_NAME_TAKEN` if another sandbox of the owner that lives, or is being made, has the name of this one. The record of
 * this one must be written: of two that are made at once at least one sees the other.
 */
export async function assertNameFree(records: Records, { id: own, name, owner }: SandboxRecord): Promise<void> {
  if (name === undefined) return;
  const ids = await idsNamed(records, name, (record) => record.owner === owner && record.id !== own);
  for (const entry of await readAll(records, ids)) if (await holdsName(records, entry)) throw nameTaken(name, entry.record);
}

async function idsNamed(
  { journal }: Pick<Records, "journal">,
  name: string,
  counts: (record: SandboxRecord) => boolean,
): Promise<readonly string[]> {
  const found = await journal.records((_id, cause) => {
    throw cause;
  });
  return found.flatMap((record) => (record.name === name && counts(record) ? [record.id] : []));
}

/** Also one in the making, and one whose end nobody knows yet. */
async function holdsName({ live }: Pick<Records, "live">, { record, end }: JournalEntry): Promise<boolean> {
  if (end) return false;
  const life = await live.findLife(record);
  return !life || !("reason" in life) || life.kept === true;
}

async function readAll({ journal }: Pick<Records, "journal">, ids: readonly string[]): Promise<readonly JournalEntry[]> {
  const entries = await mapLimit(ids, PARALLEL, (id) => journal.read(id));
  return entries.filter((entry) => entry !== undefined);
}

function ambiguous(text: string, found: readonly JournalEntry[]): BelljarError {
  const shown = found.slice(0, CANDIDATES_SHOWN).map(({ record: { id, name } }) => (name === undefined ? id : `${id} (${name})`));
  const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : "";
  return new BelljarError("ARGUMENTS_INVALID", `"${text}" may be any of ${shown.join(", ")}${more}: use more of the id`);
}
