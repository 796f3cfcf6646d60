import { expect, it } from "vitest";
import { isQuickSchema, isSmall } from "./quick-check.ts";

it.each([
  [
    { type: "object", properties: { a: { type: "string", minLength: 1, enum: ["x"] } }, required: ["a"], additionalProperties: false },
    true,
  ],
  [{ type: "object", properties: { a: { type: "array", items: { type: "integer", maximum: 9 } } } }, true],
  [{ type: "object", properties: { a: { pattern: "(a+)+$" } } }, false],
  [{ type: "object", patternProperties: { "(a+)+$": {} } }, false],
  [{ type: "object", properties: { a: { $ref: "#" } } }, false],
  [{ type: "object", properties: { a: { uniqueItems: true } } }, false],
  [{ type: "object", anyOf: [{}] }, false],
  [{ type: "object", dependentSchemas: { a: {} } }, false],
  [{ type: "object", description: "x".repeat(5_000) }, false],
])("says of %j whether a check of it is quick: %s", (schema, isQuick) => {
  expect(isQuickSchema(JSON.stringify(schema))).toBe(isQuick);
});

it.each([
  [{ a: "b", c: [1, 2, null, true] }, true],
  [Array.from({ length: 199 }, () => 0), true],
  [Array.from({ length: 200 }, () => 0), false],
  [{ a: "x".repeat(20_001) }, false],
  [{ ["x".repeat(20_001)]: 1 }, false],
  ["x".repeat(20_001), false],
])("says whether a value is small", (value, small) => {
  expect(isSmall(value)).toBe(small);
});
