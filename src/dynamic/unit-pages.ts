import { allPages } from "../async/all-pages.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { UnitLife } from "./unit-life.ts";
import type { UnitInfo, UnitPage } from "./wire/unit-schema.ts";

/** The most that a page has, and what it has unless it is asked for fewer. */
export const UNITS_PAGE_MAX = 100;
/** Schemas may be long. A page has at least one unit. */
const PAGE_BYTES = 8 * 1_048_576;

/** A list goes by the names. A cursor names the place behind a unit, and stays good whatever is added or removed meanwhile. */
export function toUnitCursor(name: string): string {
  return Buffer.from(name).toString("base64url");
}

/** The name behind which the page begins. Throws `ARGUMENTS_INVALID`. */
export function parseUnitCursor(cursor: string): string {
  const name = Buffer.from(cursor, "base64url").toString("utf8");
  if (name !== "" && toUnitCursor(name) === cursor) return name;
  throw new BelljarError("ARGUMENTS_INVALID", "The cursor is unknown: list from the start");
}

/** Throws `ARGUMENTS_INVALID`. */
export function assertUnitLimit(limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new BelljarError("ARGUMENTS_INVALID", "The limit of a list is a whole number from 1 on");
}

/** As many as fit into a page, from the first on. */
export function fitUnits(infos: readonly UnitInfo[]): readonly UnitInfo[] {
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
