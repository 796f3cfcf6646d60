import { BelljarError } from "../errors.ts";

/** A server that always has another page would be asked for ever. */
const PAGES_MAX = 10_000;

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last one. */
  readonly nextCursor?: string | undefined;
}

/** What all pages of a list have, one page after the other. Rejects with `RESULT_TOO_LARGE` for a list that does not end, or stands still. */
export async function* allPages<Item>(ask: (cursor: string | undefined) => Promise<Page<Item>>): AsyncGenerator<Item, void, undefined> {
  let cursor: string | undefined;
  for (let asked = 0; asked < PAGES_MAX; asked += 1) {
    const { items, nextCursor } = await ask(cursor);
    yield* items;
    if (nextCursor === undefined) return;
    if (nextCursor === cursor) throw new BelljarError("RESULT_TOO_LARGE", "The list does not end: a page names itself as the next one");
    cursor = nextCursor;
  }
  throw new BelljarError("RESULT_TOO_LARGE", `The list does not end after ${PAGES_MAX} pages: ask for fewer with a filter`);
}
