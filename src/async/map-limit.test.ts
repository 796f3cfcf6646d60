import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { mapLimit } from "./map-limit.ts";

it("keeps the order, and runs at most `limit` calls at a time", async () => {
  let running = 0;
  let most = 0;
  const results = await mapLimit([5, 1, 4, 2, 3], 2, async (turns) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < turns; turn += 1) await nextTurn();
    running -= 1;
    return turns * 10;
  });
  expect([results, most]).toEqual([[50, 10, 40, 20, 30], 2]);
  expect(await mapLimit([], 3, async (item) => item)).toEqual([]);
});

it("rejects with the first failure", async () => {
  await expect(mapLimit([1, 2], 2, (item) => Promise.reject(new Error(`no ${item}`)))).rejects.toThrow("no 1");
});

it("lets other work go on between items that never wait", async () => {
  let seenAt: number | undefined;
  let done = 0;
  setImmediate(() => (seenAt = done));
  const items = Array.from({ length: 300_000 });
  await mapLimit(items, 4, async () => void (done += 1));
  expect(seenAt).toBeLessThan(items.length);
});

it("begins no other item after the first rejection", async () => {
  const begun: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    await Promise.resolve();
    if (item === 1) throw new RangeError("no");
  };
  await expect(mapLimit([0, 1, 2, 3, 4, 5, 6, 7], 2, work)).rejects.toThrow(RangeError);
  await new Promise(setImmediate);
  expect(begun.length).toBeLessThan(5);
});
