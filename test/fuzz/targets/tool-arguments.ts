import { deepStrictEqual, ok } from "node:assert/strict";
import { parseArguments } from "../../../src/catalog/arguments.ts";
import type { Tool } from "../../../src/catalog/tool.ts";
import { BelljarError } from "../../../src/errors.ts";
import { createInterpreter } from "../../../src/interpreter/interpreter.ts";
import { builtinTools } from "../../../src/tools/builtin-tools.ts";
import { createShellSessions } from "../../../src/interpreter/lasting/shell-sessions.ts";
import { createNoSandboxes } from "../../support/no-sandboxes.ts";
import { createTestTexts } from "../../support/test-texts.ts";
import { BytesReader } from "../bytes-reader.ts";
import type { FuzzTarget } from "../fuzz-target.ts";
import { LateCommands } from "../../../src/tools/shell/late-commands.ts";

type Json = Readonly<Record<string, unknown>>;

const LIMITS = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
const MESSAGE_MAX = 16_384;
const DEPTH_MAX = 6;
const ODD = [null, true, "", 0, -1, [], {}, { __proto__: null }, "\0", "\ud800", ["x"], 1e300];

/**
 * Arguments of every tool, made from its own JSON Schema: the first byte chooses the tool, the others how its schema is followed or broken.
 * They are refused in a short text, or accepted as a value that is accepted again.
 */
export const toolArguments: FuzzTarget = {
  seeds: Array.from({ length: 64 }, (_value, index) => Buffer.from([index, 1, 1, 4, 97, 98, 99, 100, 1, 2, 1, 3, 120, 121, 122])),
  words: ["../", "\0", "\n", "{{", "(a+)+$", "\u2028"],
  async open() {
    const sandboxes = createNoSandboxes();
    const interpreter = createInterpreter({ sandboxes });
    const shells = createShellSessions(LIMITS);
    const texts = createTestTexts();
    const tools = builtinTools({ interpreter, sandboxes, shells, late: new LateCommands(), texts, config: LIMITS });
    const schemas = tools.map((tool) => tool.input.schema as Json);
    return {
      run(input) {
        const reader = new BytesReader(input);
        const index = reader.below(tools.length);
        const [tool, schema] = [tools[index], schemas[index]];
        if (tool && schema) check(tool, makeValue(reader, schema, 0));
      },
      async [Symbol.asyncDispose]() {
        texts[Symbol.dispose]();
        await shells[Symbol.asyncDispose]();
        await interpreter[Symbol.asyncDispose]();
      },
    };
  },
};

function check(tool: Tool, args: unknown): void {
  try {
    const value = parseArguments(tool, args);
    deepStrictEqual(parseArguments(tool, args), value);
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "ARGUMENTS_INVALID") throw error;
    ok(error.message.length <= MESSAGE_MAX, "the refusal is long");
  }
}

/** Mostly what the schema asks for; each choice may break it. */
function makeValue(reader: BytesReader, schema: Json, depth: number): unknown {
  if (depth > DEPTH_MAX || reader.below(16) === 15) return ODD[reader.below(ODD.length)];
  const options = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(options)) return makeValue(reader, (options[reader.below(options.length)] ?? {}) as Json, depth + 1);
  if (Array.isArray(schema["enum"])) return (schema["enum"] as unknown[])[reader.below(schema["enum"].length)];
  if ("const" in schema) return schema["const"];
  return MAKERS[String(schema["type"])]?.(reader, schema, depth) ?? ODD[reader.below(ODD.length)];
}

const MAKERS: Readonly<Record<string, (reader: BytesReader, schema: Json, depth: number) => unknown>> = {
  string: (reader) => reader.text(),
  number: (reader) => reader.number(),
  integer: (reader) => Math.trunc(reader.number()),
  boolean: (reader) => reader.below(2) === 1,
  null: () => null,
  array: (reader, { items }, depth) => Array.from({ length: reader.below(5) }, () => makeValue(reader, (items ?? {}) as Json, depth + 1)),
  object: makeObject,
};

function makeObject(reader: BytesReader, { properties, required }: Json, depth: number): unknown {
  const needed = new Set(Array.isArray(required) ? (required as string[]) : []);
  const entries = Object.entries((properties ?? {}) as Record<string, Json>).filter(([name]) => needed.has(name) || reader.below(2) === 1);
  const made = entries.map(([name, schema]): [string, unknown] => [name, makeValue(reader, schema, depth + 1)]);
  return Object.fromEntries(reader.below(8) === 7 ? [...made, [reader.text(), reader.text()]] : made);
}
