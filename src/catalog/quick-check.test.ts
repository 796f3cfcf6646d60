import { expect, it } from "vitest";
import { openJsonSchemas } from "./json-schemas.ts";
import { countParts, isQuick } from "./quick-check.ts";

const TEXT = { type: "string", minLength: 1, description: "x".repeat(1_000), format: "uri" };

it.each([
  [{ type: "object" }],
  [{ type: "object", properties: { pattern: TEXT, $ref: TEXT }, required: ["pattern"], additionalProperties: false }],
  [{ type: "object", properties: { a: { anyOf: [TEXT, { type: "array", items: { enum: [1, { b: 2 }] }, maxItems: 9 }] } } }],
  [{ type: "object", if: { properties: { a: true } }, then: { not: { const: 1 } }, properties: { a: { prefixItems: [TEXT] } } }],
])("counts the parts of %j", (schema) => {
  expect(countParts(schema)).toBeLessThan(30);
});

it.each([
  { pattern: "^(a+)+$" },
  { patternProperties: { "^(a+)+$": true } },
  { propertyNames: { pattern: "^(a+)+$" } },
  { uniqueItems: true },
  { $ref: "#" },
  { $dynamicRef: "#" },
  { $id: "https://example.com/" },
  { contains: TEXT },
  { unevaluatedProperties: false },
  { dependentSchemas: { a: TEXT } },
  { unheard: 1 },
])("calls no schema quick that has %j anywhere", (part) => {
  expect(countParts(part)).toBeUndefined();
  for (const word of ["additionalProperties", "items", "not", "if", "then", "else"])
    expect(countParts({ [word]: { items: part } })).toBeUndefined();
  for (const word of ["allOf", "anyOf", "oneOf", "prefixItems"]) expect(countParts({ [word]: [TEXT, part] })).toBeUndefined();
  expect(countParts({ properties: { a: part } })).toBeUndefined();
});

it("counts values, and the characters of texts", () => {
  expect(isQuick(10, { a: "text" })).toBe(true);
  expect(isQuick(10, { a: Array.from({ length: 2_000 }, () => 1) })).toBe(false);
  expect(isQuick(10, { a: "x".repeat(200_000) })).toBe(false);
  expect(isQuick(30_000, {})).toBe(false);
});

it("checks without the limit of time what is quick, and with it all else, with the same answers", async () => {
  let limited = 0;
  const run = (work: () => void) => ((limited += 1), work(), "ran" as const);
  const schemas = await openJsonSchemas({ limit: { run } });
  const read = (a: object) => schemas.read({ type: "object", properties: { a } }, "ada");
  const [quick, slow] = [read({ type: "string", maxLength: 3 }), read({ type: "string", pattern: "^.{0,3}$" })];
  const compiled = limited;
  expect([quick.parse({ a: "abc" }), quick.parse({ a: "abcd" })]).toEqual([
    { value: { a: "abc" } },
    { problems: [expect.stringContaining("a: ")] },
  ]);
  expect(limited).toBe(compiled);
  expect(slow.parse({ a: "abcd" })).toHaveProperty("problems");
  expect(quick.parse({ a: "x".repeat(1_000_000) })).toHaveProperty("problems");
  expect(limited).toBe(compiled + 2);
});
