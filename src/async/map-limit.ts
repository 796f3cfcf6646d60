import { Slices } from "./slices.ts";

/**
 * Maps the items with at most `limit` calls at a time. The results keep the order of the items. Very many that never wait for anything are
 * done in slices, between which the process does its other work. After the first rejection no other item is begun.
 */
export async function mapLimit<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  await eachLimit(items.entries(), Math.min(limit, items.length), ([index, item]) => {
    const result = map(item);
    if (result instanceof Promise) return result.then((value) => void (results[index] = value));
    results[index] = result;
    return undefined;
  });
  return results;
}

/** The same for work without results, on items of which nobody makes a list. */
export async function eachLimit<Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void> | undefined,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const slices = new Slices();
  let hasFailed = false;
  const workOn = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true && !hasFailed; next = left.next()) {
      try {
        const working = work(next.value);
        if (working) await working;
      } catch (cause) {
        hasFailed = true;
        throw cause;
      }
      const pause = slices.next();
      if (pause) await pause;
    }
  };
  await Promise.all(Array.from({ length: limit }, workOn));
}
