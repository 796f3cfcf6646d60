import { Slices } from "./slices.ts";

/**
 * Maps the items with at most `limit` calls at a time. The results keep the order of the items. Very many that never wait for anything are
 * done in slices, between which the process does its other work.
 */
export async function mapLimit<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const entries = items.entries();
  const slices = new Slices();
  const work = async (): Promise<void> => {
    for (const [index, item] of entries) {
      const result = map(item);
      results[index] = result instanceof Promise ? await result : result;
      const pause = slices.next();
      if (pause) await pause;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  return results;
}
