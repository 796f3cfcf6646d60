import { allPages } from "../async/all-pages.ts";
import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { UnitLife, UnitListOptions } from "./unit-life.ts";
import type { UnitHead } from "./unit.ts";
import type { UnitInfo, UnitPage } from "./wire/unit-schema.ts";

/** The most that a page has, and what it has unless it is asked for fewer. */
export const UNITS_PAGE_MAX = 100;
/** Schemas may be long. A page has at least one unit. */
const PAGE_BYTES = 8 * 1_048_576;

/** How many versions are read together for a page. */
const READ_TOGETHER = 32;

/** A page of units, by their names. One whose facts cannot be read is left out. Throws `ARGUMENTS_INVALID`. */
export async function readUnitPage(
  units: readonly UnitHead[],
  { cursor, limit = UNITS_PAGE_MAX }: UnitListOptions,
  infoOf: (head: UnitHead) => Promise<UnitInfo>,
): Promise<Pick<UnitPage, "tools" | "nextCursor">> {
  assertUnitLimit(limit);
  const after = cursor === undefined ? "" : parseUnitCursor(cursor);
  const left = units.filter(({ name }) => name > after).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const heads = left.slice(0, Math.min(limit, UNITS_PAGE_MAX));
  const infos = await mapLimit(heads, READ_TOGETHER, (head) => infoOf(head).catch(() => undefined));
  const found = infos.filter((info) => info !== undefined);
  const tools = fitUnits(found);
  const last = tools.length < found.length ? tools.at(-1) : heads.at(-1);
  const hasMore = heads.length < left.length || tools.length < found.length;
  return { tools, ...(hasMore && last && { nextCursor: toUnitCursor(last.name) }) };
}

/** A list goes by the names. A cursor names the place behind a unit, and stays good whatever is added or removed meanwhile. */
function toUnitCursor(name: string): string {
  return Buffer.from(name).toString("base64url");
}

/** The name behind which the page begins. Throws `ARGUMENTS_INVALID`. */
function parseUnitCursor(cursor: string): string {
  const name = Buffer.from(cursor, "base64url").toString("utf8");
  if (name !== "" && toUnitCursor(name) === cursor) return name;
  throw new BelljarError("ARGUMENTS_INVALID", "The cursor is unknown: list from the start");
}

/** Throws `ARGUMENTS_INVALID`. */
function assertUnitLimit(limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new BelljarError("ARGUMENTS_INVALID", "The limit of a list is a whole number from 1 on");
}

/** As many as fit into a page, from the first on. */
function fitUnits(infos: readonly UnitInfo[]): readonly UnitInfo[] {
  let left = PAGE_BYTES;
  const end = infos.findIndex((info, index) => (left -= Buffer.byteLength(JSON.stringify(info))) < 0 && index > 0);
  return end < 0 ? infos : infos.slice(0, end);
}

/** All pages of the principal's units in one. Rejects with `RESULT_TOO_LARGE` for a list that does not end. */
export async function allUnits(life: Pick<UnitLife, "list">, principal: Principal): Promise<Required<Omit<UnitPage, "nextCursor">>> {
  const units: UnitInfo[] = [];
  const unread: NonNullable<UnitPage["problems"]>[number][] = [];
  const ask = async (cursor: string | undefined) => {
    const { tools, problems = [], nextCursor }: UnitPage = await life.list(principal, { cursor });
    unread.push(...problems);
    return { items: tools, nextCursor };
  };
  for await (const unit of allPages(ask)) units.push(unit);
  return { tools: units, problems: unread };
}
