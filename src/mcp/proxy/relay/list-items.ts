import { allPages } from "../../../async/all-pages.ts";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { BelljarError } from "../../../errors.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { ServerSession } from "../../client/server-session.ts";
import { isRecord } from "../../client/config/is-record.ts";

const ITEMS_MAX = 10_000;
/** Of all pages, as they came. */
const BYTES_MAX = 32 * 1_048_576;

/** A list of a server: the method, the field of its answer, and what a server must have said to be asked for it. */
export interface ItemList {
  readonly method: string;
  readonly field: string;
  readonly capability: "tools" | "resources" | "prompts";
  /** The field that names an item. */
  readonly key: string;
}

/**
 * What a server lists, each name once, as it came. What has no name, or is nested too deep, is left out. Rejects with `RESULT_TOO_LARGE`, and as
 * a request does.
 */
export async function listItems(
  session: ServerSession,
  { method, field, capability, key }: ItemList,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  if (session.capabilities[capability] === undefined) return [];
  const found = new Map<string, JsonObject>();
  let bytes = 0;
  const pages = allPages(async (cursor) => {
    const { [field]: page, nextCursor } = await session.request(method, cursor === undefined ? {} : { cursor }, { signal });
    const items = (Array.isArray(page) ? page : []).filter((item) => !isNestedTooDeep(item));
    bytes += Buffer.byteLength(JSON.stringify(items));
    if (bytes > BYTES_MAX) throw new BelljarError("RESULT_TOO_LARGE", `The server lists more than ${BYTES_MAX} bytes of ${field}`);
    return { items, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
  });
  for await (const item of pages) {
    const name = isRecord(item) ? item[key] : undefined;
    if (isRecord(item) && typeof name === "string" && !found.has(name)) found.set(name, item);
    if (found.size >= ITEMS_MAX) break;
  }
  return [...found.values()];
}
