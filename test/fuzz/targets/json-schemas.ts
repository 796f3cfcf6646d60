import { ok } from "node:assert/strict";
import { openJsonSchemas } from "../../../src/catalog/json-schemas.ts";
import { BelljarError } from "../../../src/errors.ts";
import type { FuzzTarget } from "../fuzz-target.ts";

const PROBLEM_MAX = 1_024;

const SEEDS: readonly (readonly [object, unknown])[] = [
  [{ type: "object", properties: { text: { type: "string", pattern: "^a+$" } }, required: ["text"] }, { text: "aa" }],
  [{ type: "object", $defs: { n: { properties: { next: { $ref: "#/$defs/n" } } } }, $ref: "#/$defs/n" }, { next: { next: {} } }],
  [{ type: "object", anyOf: [{ required: ["a"] }, { not: { required: ["b"] } }], unevaluatedProperties: false }, { b: 1 }],
  [{ type: "object", patternProperties: { "^x": { enum: [1, null, "y"] } }, dependentRequired: { x: ["y"] } }, { x: 1 }],
];

/** A schema that somebody wrote and a value: the schema is refused as foreseen, or says yes or what is wrong in short texts. */
export const jsonSchemas: FuzzTarget = {
  seeds: SEEDS.map((seed) => JSON.stringify(seed)),
  words: ['"$ref":"#"', '"$id":"x"', '"$dynamicRef":"#a"', '"$anchor":"a"', '"__proto__":', '"pattern":"(a+)+$"', '"$async":true'],
  async open() {
    const schemas = await openJsonSchemas();
    return {
      run(input) {
        const pair = parse(input);
        if (!pair) return;
        try {
          const parsed = schemas.read(pair[0], "fuzzer").parse(pair[1]);
          if ("problems" in parsed) ok(parsed.problems.length > 0 && parsed.problems.every(({ length }) => length <= PROBLEM_MAX));
        } catch (error) {
          if (!(error instanceof BelljarError) || error.code !== "ARGUMENTS_INVALID") throw error;
        }
      },
      [Symbol.asyncDispose]: async () => {},
    };
  },
};

function parse(input: Buffer): readonly unknown[] | undefined {
  try {
    const json: unknown = JSON.parse(input.toString());
    return Array.isArray(json) ? json : undefined;
  } catch {
    // What is no JSON reaches no schema.
    return undefined;
  }
}
