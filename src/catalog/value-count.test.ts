import { expect, it } from "vitest";
import { hasMoreValues } from "./value-count.ts";

const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

it.each([
  ["texts and nothing", ["a".repeat(100), null], 3],
  ["an array with its items", [1, [2, 3]], 5],
  ["an object with its fields", { a: { b: 1 }, c: [] }, 4],
  ["arrays in arrays, however deep", nested(5_000), 5_000],
])("counts %s", (_what, json, count) => {
  expect([hasMoreValues(json, count), hasMoreValues(json, count - 1)]).toEqual([false, true]);
});
