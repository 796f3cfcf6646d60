import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonHasMoreValues } from "./json-values.ts";

it.each([
  ["a text with all that it may hold", JSON.stringify(`,[{"\\",[{\\`), 1],
  ["an array with its items", '[1, "a,b", [2]]', 5],
  ["an object with its fields", '{"a,": {"b\\"[": 1}, "c": []}', 5],
])("counts %s", (_what, text, most) => {
  expect([jsonHasMoreValues(text, most), jsonHasMoreValues(text, most - 1)]).toEqual([false, true]);
});

it("never counts fewer than there are", () => {
  const countOf = (value: unknown): number =>
    1 + (typeof value === "object" && value !== null ? Object.values(value).reduce((sum: number, inner) => sum + countOf(inner), 0) : 0);
  fc.assert(
    fc.property(
      fc.jsonValue(),
      (value) =>
        !jsonHasMoreValues(JSON.stringify(value), countOf(value) * 2) &&
        (countOf(value) === 1 || jsonHasMoreValues(JSON.stringify(value), countOf(value) / 2 - 1)),
    ),
  );
});

it("comes to an end in what is no JSON", () => {
  for (const text of ['"', '"\\', '"\\"', "", '\\\\"[']) expect(jsonHasMoreValues(text, 10)).toBe(false);
});
