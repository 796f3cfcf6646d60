import { expect, it } from "vitest";
import { Ring } from "./ring.ts";

it("keeps the newest, and answers those after a count", () => {
  const ring = new Ring<number>(3);
  for (const one of [1, 2, 3, 4, 5]) ring.add(one);
  expect([ring.all, ring.count]).toEqual([[3, 4, 5], 5]);
  expect([ring.since(5), ring.since(4), ring.since(0)]).toEqual([[], [5], [3, 4, 5]]);
});
