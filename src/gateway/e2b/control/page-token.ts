import { BelljarError } from "../../../errors.ts";

/** Where a page ended: the next one goes on behind that, whatever is made or removed meanwhile. */
export interface PagePlace {
  readonly at: Date;
  readonly id: string;
}

export type PageOrder = "asc" | "desc";

const TOKEN_MAX = 200;
const PLACE = /^([0-9TZ:.-]{10,30})__([a-z0-9]{20})(__asc)?$/;

export function toPageToken({ at, id }: PagePlace, order: PageOrder): string {
  return Buffer.from(`${at.toISOString()}__${id}${order === "asc" ? "__asc" : ""}`).toString("base64url");
}

/** Throws `ARGUMENTS_INVALID` for what is no token of a list in this order. */
export function parsePageToken(token: string, order: PageOrder): PagePlace {
  const text = token.length <= TOKEN_MAX ? Buffer.from(token, "base64url").toString("latin1") : "";
  const [, time = "", id, ascending] = PLACE.exec(text) ?? [];
  const at = new Date(time);
  if (id === undefined || Number.isNaN(at.getTime()) || (ascending !== undefined) !== (order === "asc"))
    throw new BelljarError("ARGUMENTS_INVALID", "Invalid next token");
  return { at, id };
}

export interface PageWish {
  readonly order: PageOrder;
  readonly limit: number;
  readonly token: string | undefined;
}

/** One page of all, in order of time and id; and the token of the next one, unless it is the last. */
export function cutPage<Item extends PagePlace>(all: readonly Item[], { order, limit, token }: PageWish): Page<Item> {
  const sorted = all.toSorted((one, other) => compare(one, other, order));
  const from = token === undefined ? undefined : parsePageToken(token, order);
  const rest = from === undefined ? sorted : sorted.filter((item) => compare(item, from, order) > 0);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return { items, nextToken: last && rest.length > items.length ? toPageToken(last, order) : undefined };
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextToken: string | undefined;
}

function compare(one: PagePlace, other: PagePlace, order: PageOrder): number {
  const byTime = one.at.getTime() - other.at.getTime();
  const byId = Number(one.id > other.id) - Number(one.id < other.id);
  return (order === "asc" ? 1 : -1) * (byTime === 0 ? byId : byTime);
}
