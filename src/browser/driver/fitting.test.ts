import { expect, it } from "vitest";
import { firstFitting, lastFitting } from "./fitting.ts";

it("keeps what fits from either end, by the bytes that are sent", () => {
  const entries = ["aa", '""', "é", "\u0001"];
  expect([5, 12, 13, 17, 26].map((bytes) => firstFitting(entries, bytes).length)).toEqual([1, 2, 2, 3, 4]);
  expect(firstFitting(entries, 4)).toEqual([]);
  expect(lastFitting(entries, 14)).toEqual(["é", "\u0001"]);
});
