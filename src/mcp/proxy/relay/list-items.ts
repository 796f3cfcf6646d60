import { allPages } from "../../../async/all-pages.ts";
import { Slices } from "../../../async/slices.ts";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { countValues, VALUES_MAX } from "../../../catalog/value-count.ts";
import { TOKEN_BYTES } from "../../../files/json-tokens.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { ServerSession } from "../../client/server-session.ts";
import { isRecord } from "../../client/config/is-record.ts";
import type { TakeBytes } from "./list-budget.ts";

const ITEMS_MAX = 10_000;
/** Of one item: what is done with it, its digest first, is done in one go. */
const ITEM_BYTES_MAX = 512 * 1_024;

/** A list of a server: the method, the field of its answer, and what a server must have said to be asked for it. */
export interface ItemList {
  readonly method: string;
  readonly field: string;
  readonly capability: "tools" | "resources" | "prompts";
  /** The field that names an item. */
  readonly key: string;
}

export interface ListItemsOptions {
  readonly signal: AbortSignal;
  /** Is given the name of each item that is too large, if it has one. */
  readonly leftOut: (name: string | undefined) => void;
  /** Is asked for room for each item. */
  readonly take: TakeBytes;
}

/**
 * What a server lists, each name once, as it came. What has no name is left out, and what is too large, of which `leftOut` is told. Rejects as `take`
 * and a request do, and takes nothing then.
 */
export async function listItems(
  session: ServerSession,
  { method, field, capability, key }: ItemList,
  { signal, leftOut, take }: ListItemsOptions,
): Promise<readonly JsonObject[]> {
  if (session.capabilities[capability] === undefined) return [];
  const found = new Map<string, JsonObject>();
  const slices = new Slices(signal);
  let taken = 0;
  const pages = allPages(async (cursor) => {
    const { [field]: page, nextCursor } = await session.request(method, cursor === undefined ? {} : { cursor }, { signal });
    const items: unknown[] = [];
    for (const item of Array.isArray(page) ? (page as readonly unknown[]) : []) {
      const size = sizeOf(item);
      if (size === undefined) leftOut(nameOf(item, key));
      else {
        take(size);
        taken += size;
        items.push(item);
      }
      await slices.next();
    }
    return { items, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
  });
  try {
    for await (const item of pages) {
      const name = nameOf(item, key);
      if (isRecord(item) && name !== undefined && !found.has(name)) found.set(name, item);
      if (found.size >= ITEMS_MAX) break;
    }
  } catch (cause) {
    take(-taken);
    throw cause;
  }
  return [...found.values()];
}

function nameOf(item: unknown, key: string): string | undefined {
  const name = isRecord(item) ? item[key] : undefined;
  return typeof name === "string" ? name : undefined;
}

/** In bytes of memory; undefined for what has too many values or levels, or is too long. The first question is the cheapest of them, and bounds the others. */
function sizeOf(item: unknown): number | undefined {
  const values = countValues(item);
  if (values > VALUES_MAX || isNestedTooDeep(item)) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(item));
  return bytes > ITEM_BYTES_MAX ? undefined : bytes + values * TOKEN_BYTES;
}
