import { expect, it } from "vitest";
import { isNestedTooDeep, NESTING_MAX } from "./nesting.ts";

function nested(levels: number): unknown {
  let value: unknown = "leaf";
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

it.each([0, 1, 5, NESTING_MAX])("takes %i levels, and not one more", (max) => {
  expect(isNestedTooDeep(nested(max), max)).toBe(false);
  expect(isNestedTooDeep(nested(max + 1), max)).toBe(true);
});

it("takes 500 levels of a message", () => {
  expect([isNestedTooDeep(nested(500)), isNestedTooDeep(nested(501))]).toEqual([false, true]);
});
