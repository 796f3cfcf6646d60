import { expect, it } from "vitest";
import { Slices } from "./slices.ts";

it("lets other work go on while a long one does not end", async () => {
  let isSeen = false;
  setImmediate(() => (isSeen = true));
  const slices = new Slices();
  while (!isSeen) await slices.next();
  expect(isSeen).toBe(true);
});

it("lets other work go on once for all that share them", async () => {
  let [turns, isOver] = [0, false];
  const count = (): unknown => isOver || ((turns += 1), setImmediate(count));
  setImmediate(count);
  const slices = new Slices();
  let done = 0;
  const work = async (): Promise<void> => {
    for (let piece = 0; piece < 512; piece += 1) await ((done += 1), slices.next());
  };
  await Promise.all(Array.from({ length: 32 }, work));
  isOver = true;
  // Of 256 pieces each: with a slice for each of the 32 it would be two turns.
  expect(done / turns).toBeLessThanOrEqual(2 * 256);
});
