import { ok } from "node:assert/strict";
import type { JsonSchema } from "../../../src/catalog/tool-schema.ts";
import { signature } from "../../../src/tools/code/script/signatures.ts";
import type { FuzzTarget } from "../fuzz-target.ts";

/** Names and descriptions of a hundred fields, and types of 2,000 characters. */
const LONGEST = 64_000;

const SEEDS: readonly object[] = [
  { type: "object", properties: { text: { type: "string", description: "A text" } }, required: ["text"] },
  { type: "object", $defs: { n: { properties: { next: { $ref: "#/$defs/n" } } } }, properties: { n: { $ref: "#/$defs/n" } } },
  { type: "object", properties: { a: { anyOf: [{ enum: ["x", 1, null] }, { type: ["array", "null"], items: { const: true } }] } } },
  { type: "object", additionalProperties: { type: "object", properties: { "a b": {} } } },
];

/** A schema that somebody wrote: its signatures are short, and each line of them is a comment or the call. */
export const toolSignatures: FuzzTarget = {
  seeds: SEEDS.map((seed) => JSON.stringify(seed)),
  words: ['"$ref":"#"', '"$ref":"#/properties/a"', '"__proto__":', '"enum":', '"anyOf":', '"oneOf":', '"\\u2028"', '"\\n"'],
  async open() {
    return {
      run(input) {
        const schema = parse(input);
        if (!schema) return;
        for (const language of ["typescript", "python"] as const) {
          const lines = signature(toTool(schema), ["tool"], { language, work: { left: 200_000 } }).split(/[\n\r\u2028\u2029]/);
          ok(lines.reduce((sum, line) => sum + line.length, 0) < LONGEST);
          ok(lines.slice(0, -1).every((line) => line.startsWith(language === "python" ? "#" : "//")));
          ok(lines.at(-1)?.startsWith("tools.tool("));
        }
      },
      [Symbol.asyncDispose]: async () => {},
    };
  },
};

function toTool(schema: JsonSchema): Parameters<typeof signature>[0] {
  const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  const input = { schema, parse: (value: unknown) => ({ value }) };
  return { name: "tool", title: "Tool", description: "Does\nit.", toolset: "mcp", annotations, input, output: input };
}

function parse(input: Buffer): JsonSchema | undefined {
  try {
    const json: unknown = JSON.parse(input.toString());
    return typeof json === "object" && json !== null ? (json as JsonSchema) : undefined;
  } catch {
    // What is no JSON reaches no signature.
    return undefined;
  }
}
