import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import type { Journal } from "./journal.ts";
import { comparePositions, parseCursor, toCursor } from "./list-cursor.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import { mayReach } from "./reach.ts";
import { matchesMetadata, matchesState } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { ListFilter, ListOptions, Principal, SandboxInfo, SandboxPage, Sandboxes } from "./sandbox.ts";

/** How many folders are looked at together. */
const PARALLEL = 16;
/** How many sandboxes are asked together: those that do not answer must not hold the others up. */
const LOOKS = 64;
/** A page has at most so much, or one sandbox: clients take 16 MiB of an answer, and the labels of one sandbox may take four. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** A server that always has another page would be asked for ever. */
const PAGES_MAX = 10_000;

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
  const records = (await readRecords(home, principal))
    .filter((record) => matchesMetadata(record, filter) && (!start || comparePositions(start, record) < 0))
    .toSorted(comparePositions);
  // One more than fits tells whether there is another page.
  const found = await findInfos(home, records, { filter, count: most + 1 });
  const page = found.slice(0, fitPage(found, most)).map(({ info }) => info);
  const last = found.length > page.length ? page.at(-1) : undefined;
  return { sandboxes: page, ...(last && { nextCursor: toCursor(last, kind) }) };
}

/** All pages, one after the other. */
export async function* listAll(
  sandboxes: Pick<Sandboxes, "list">,
  principal: Principal,
  filter: ListFilter,
): AsyncGenerator<SandboxInfo, void, undefined> {
  let cursor: string | undefined;
  for (let asked = 0; asked < PAGES_MAX; asked += 1) {
    const page = await sandboxes.list(principal, { filter, cursor });
    yield* page.sandboxes;
    cursor = page.nextCursor;
    if (cursor === undefined) return;
  }
  throw new BelljarError("RESULT_TOO_LARGE", `The list does not end after ${PAGES_MAX} pages: ask for fewer with a filter`);
}

function parseLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new BelljarError("ARGUMENTS_INVALID", "The limit of a list is a whole number from 1 on");
}

async function readRecords(home: ListedHome, principal: Principal): Promise<readonly SandboxRecord[]> {
  const records = await mapLimit(await home.journal.ids(), PARALLEL, (id) => reported(home, id, () => home.journal.readRecord(id)));
  return records.flatMap((record) => (record && mayReach(principal, record) ? [record] : []));
}

interface Wanted {
  readonly filter: ListFilter;
  readonly count: number;
}

interface Found {
  readonly info: SandboxInfo;
  /** As JSON. */
  readonly bytes: number;
}

/** Asks twice as many together each time: where a filter leaves few, those that do not answer would hold up one another. */
async function findInfos(home: ListedHome, records: readonly SandboxRecord[], { filter, count }: Wanted): Promise<readonly Found[]> {
  const found: Found[] = [];
  let [next, together, bytes] = [0, count, 0];
  while (next < records.length && found.length < count && (found.length < 2 || bytes <= PAGE_BYTES)) {
    const asked = records.slice(next, next + Math.min(LOOKS, together));
    const infos = await mapLimit(asked, LOOKS, (record) => reported(home, record.id, () => home.live.findInfo(record)));
    const fitting = infos.flatMap((info) => (info && matchesState(info, filter) ? [{ info, bytes: bytesOf(info) }] : []));
    found.push(...fitting);
    bytes += fitting.reduce((sum, one) => sum + one.bytes, 0);
    next += asked.length;
    together *= 2;
  }
  return found;
}

/** How many make a page: at least one. */
function fitPage(found: readonly Found[], most: number): number {
  let left = PAGE_BYTES;
  const end = found.findIndex(({ bytes }, index) => index === most || ((left -= bytes) < 0 && index > 0));
  return end < 0 ? found.length : end;
}

function bytesOf(info: SandboxInfo): number {
  return Buffer.byteLength(JSON.stringify(info));
}

/** One that cannot be read or asked is reported and left out: the others are still to be seen. */
async function reported<T>({ report }: ListedHome, id: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    report(`Sandbox ${id} is left out of the list: ${cause.message}`);
    return undefined;
  }
}
