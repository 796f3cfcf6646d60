import { allPages } from "../async/all-pages.ts";
import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import type { Journal } from "./journal.ts";
import { comparePositions, parseCursor, type Position, toCursor } from "./list-cursor.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import { mayReach } from "./reach.ts";
import { matchesMetadata, matchesState } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { ListFilter, ListOptions, Principal, SandboxInfo, SandboxPage, Sandboxes } from "./sandbox.ts";

/** How many sandboxes are asked together: those that do not answer must not hold the others up. */
const LOOKS = 64;
/** How many are looked at before it is counted what fits. */
const LOOKS_MAX = 1_024;
/** A page has at most so much, or one sandbox: clients take 16 MiB of an answer, and the labels of one sandbox may take four. */
const PAGE_BYTES = 8 * 1024 * 1024;

export interface ListedHome {
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  /** The most that one page has. */
  readonly listMax: number;
  readonly report: (problem: string) => void;
}

/** One page of the principal's sandboxes, the newest first. Asks no more of them than it takes to fill the page, with a filter a few more. */
export async function listSandboxes(home: ListedHome, principal: Principal, options: ListOptions): Promise<SandboxPage> {
  const { filter = {}, cursor, limit = home.listMax } = options;
  const kind = { principal, filter };
  const start = cursor === undefined ? undefined : parseCursor(cursor, kind);
  const most = Math.min(parseLimit(limit), home.listMax);
  const all = await home.journal.records((id, cause) => reportLeftOut(home, id, cause));
  const from = start ? findAfter(all, start) : 0;
  // One more than fits tells whether there is another page.
  const isMeant = (record: SandboxRecord): boolean => mayReach(principal, record) && matchesMetadata(record, filter);
  const found = await findInfos(home, all, { from, isMeant, filter, count: most + 1 });
  const page = found.slice(0, fitPage(found, most)).map(({ info }) => ({ ...info }));
  const last = found.length > page.length ? page.at(-1) : undefined;
  return { sandboxes: page, ...(last && { nextCursor: toCursor(last, kind) }) };
}

/** All pages, one after the other. */
export function listAll(
  sandboxes: Pick<Sandboxes, "list">,
  principal: Principal,
  filter: ListFilter,
): AsyncGenerator<SandboxInfo, void, undefined> {
  return allPages(async (cursor) => {
    const { sandboxes: items, nextCursor } = await sandboxes.list(principal, { filter, cursor });
    return { items, nextCursor };
  });
}

function parseLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new BelljarError("ARGUMENTS_INVALID", "The limit of a list is a whole number from 1 on");
}

/** Where in an ordered list the first one behind the position is. */
function findAfter(records: readonly SandboxRecord[], position: Position): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const record = records[middle];
    if (record && comparePositions(position, record) < 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface Wanted {
  readonly from: number;
  readonly isMeant: (record: SandboxRecord) => boolean;
  readonly filter: ListFilter;
  readonly count: number;
}

interface Found {
  readonly info: SandboxInfo;
  /** As JSON. */
  readonly bytes: number;
}

/** Asks twice as many together each time: where a filter leaves few, those that do not answer would hold up one another. */
async function findInfos(home: ListedHome, records: readonly SandboxRecord[], wanted: Wanted): Promise<readonly Found[]> {
  const { from, isMeant, filter, count } = wanted;
  const found: Found[] = [];
  let [next, together, bytes] = [from, count, 0];
  while (next < records.length && found.length < count && (found.length < 2 || bytes <= PAGE_BYTES)) {
    const asked: SandboxRecord[] = [];
    for (; next < records.length && asked.length < together; next += 1) {
      const record = records[next];
      if (record && isMeant(record)) asked.push(record);
    }
    const fitting = (await lookAt(home, asked)).filter(({ info }) => matchesState(info, filter));
    found.push(...fitting);
    bytes += fitting.reduce((sum, one) => sum + one.bytes, 0);
    together = Math.min(LOOKS_MAX, together * 2);
  }
  return found;
}

async function lookAt(home: ListedHome, records: readonly SandboxRecord[]): Promise<readonly Found[]> {
  const look = await home.live.lookAt(records);
  const toFound = (info: SandboxInfo | undefined): Found | undefined => info && { info, bytes: home.live.infos.bytesOf(info) };
  const ask = async (record: SandboxRecord): Promise<Found | undefined> =>
    toFound(await reported(home, record.id, () => home.live.findInfo(record, look)));
  const found = await mapLimit(records, LOOKS, (record) => toFound(home.live.infos.known(record, look)) ?? ask(record));
  return found.filter((one) => one !== undefined);
}

/** How many make a page: at least one. */
function fitPage(found: readonly Found[], most: number): number {
  let left = PAGE_BYTES;
  const end = found.findIndex(({ bytes }, index) => index === most || ((left -= bytes) < 0 && index > 0));
  return end < 0 ? found.length : end;
}

/** One that cannot be read or asked is reported and left out: the others are still to be seen. */
async function reported<T>(home: ListedHome, id: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    return reportLeftOut(home, id, cause);
  }
}

function reportLeftOut({ report }: ListedHome, id: string, cause: unknown): undefined {
  if (!(cause instanceof BelljarError)) throw cause;
  report(`Sandbox ${id} is left out of the list: ${cause.message}`);
}
