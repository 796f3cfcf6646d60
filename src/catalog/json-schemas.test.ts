import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BelljarError } from "../errors.ts";
import { openJsonSchemas } from "./json-schemas.ts";
import { createTimeLimit, type TimeLimit } from "./time-limit.ts";
import type { ToolSchema } from "./tool-schema.ts";
import { zodSchema } from "./tool-schema.ts";

const limit = createTimeLimit();
/** On a busy machine an honest schema may take ten times as long. */
const schemas = await openJsonSchemas({ limit: { run: (work, timeoutMs) => limit.run(work, 10 * timeoutMs) } });
const read = (schema: unknown): ToolSchema => schemas.read(schema, "ada");
const TEXT = { type: "object", properties: { text: { type: "string", maxLength: 5 } }, required: ["text"], additionalProperties: false };

/** Both ways to say the same. */
const SAME: readonly (readonly [string, ToolSchema])[] = [
  ["JSON Schema", read(TEXT)],
  ["zod", zodSchema(z.strictObject({ text: z.string().max(5) }))],
];

it.each(SAME)("reads the same with %s, and says what is wrong by the field's name", (_kind, tool) => {
  expect(tool.schema).toEqual(TEXT);
  expect(tool.parse({ text: "hi" })).toEqual({ value: { text: "hi" } });
  expect(tool.parse({ text: "too long" })).toEqual({ problems: [expect.stringMatching(/^text: /)] });
  expect(tool.parse({})).toEqual({ problems: [expect.stringMatching(/^(?!.*: undefined).*text/)] });
  expect(tool.parse({ text: "", other: 1 })).toEqual({ problems: [expect.stringContaining("other")] });
  expect(tool.parse([])).toHaveProperty("problems");
});

it("shows a schema as it was given, and changes nothing in a value", () => {
  const given = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { n: { type: "number", default: 1 } },
  };
  const tool = read(given);
  expect(tool.schema).toBe(given);
  expect(tool.parse({})).toEqual({ value: {} });
  expect(tool.parse({ n: "1" })).toHaveProperty("problems");
});

it("knows 2020-12 and follows references within the schema", () => {
  const tool = read({
    type: "object",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, additionalProperties: false } },
    properties: { root: { $ref: "#/$defs/node" }, pair: { prefixItems: [{ type: "string" }, { type: "number" }] } },
    dependentRequired: { pair: ["root"] },
  });
  expect(tool.parse({ root: { next: { next: {} } }, pair: ["a", 1] })).toHaveProperty("value");
  for (const wrong of [{ root: { next: { other: 1 } } }, { root: {}, pair: [1, 1] }, { pair: ["a", 1] }]) {
    expect(tool.parse(wrong)).toHaveProperty("problems");
  }
});

it("loads nothing, whatever a schema refers to", async () => {
  let asked = 0;
  const server = createServer((_request, response) => void ((asked += 1), response.end("{}"))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema`;
  expect(() => read({ type: "object", properties: { a: { $ref: url } } })).toThrowError(/can't resolve reference/);
  await new Promise((resolve) => server.close(resolve));
  expect(asked).toBe(0);
});

it("lets no schema refer to another one by its name", () => {
  read({ $id: "https://example.com/mine", type: "object" });
  expect(() => read({ type: "object", properties: { a: { $ref: "https://example.com/mine" } } })).toThrowError(/resolve reference/);
  expect(read({ $id: "https://example.com/mine", type: "object", required: ["a"] }).parse({})).toHaveProperty("problems");
});

const deep = (levels: number): unknown => JSON.parse(`${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}`);

it.each([
  ["no object", "text", /must be an object/],
  ["nothing", undefined, /must be an object/],
  ["a schema of texts", { type: "string" }, /must be an object/],
  ["10,000 levels", { type: "object", properties: { a: deep(10_000) } }, /more than 64 levels/],
  ["a megabyte", { type: "object", description: "x".repeat(1_048_576) }, /more than 262144 characters/],
  ["a pattern that is none", { type: "object", properties: { a: { pattern: "(" } } }, /cannot be used/],
  ["a word with a value that it cannot have", { type: "object", properties: 5 }, /cannot be used/],
])("refuses %s", (_what, schema, message) => {
  expect(() => read(schema)).toThrowError(BelljarError);
  expect(() => read(schema)).toThrowError(message);
});

/** Each level asks for the next one twice. */
function doubling(levels: number): unknown {
  const names = Array.from({ length: levels }, (_, index) => `d${index}`);
  const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
  const defs = names.map((name, index) => [name, index === 0 ? { type: "object" } : twice(`d${index - 1}`)]);
  return { type: "object", $defs: Object.fromEntries(defs), ...twice(`d${levels - 1}`) };
}

const TOO_LONG = { problems: ["the tool's schema takes too long to check"] };
const BACKTRACKING = { type: "object", properties: { a: { pattern: "^(a+)+$" } } };
const ENDLESS = { a: `${"a".repeat(60)}!` };

/** A busy machine that keeps a check from its time is asked again: it does so a few times at most. */
function checked(tool: ToolSchema, value: unknown): unknown {
  const isBusy = (parsed: unknown): boolean => JSON.stringify(parsed).includes("too busy");
  let parsed: unknown = tool.parse(value);
  for (let turn = 0; turn < 10 && isBusy(parsed); turn += 1) parsed = tool.parse(value);
  return parsed;
}

it.each([
  ["a pattern that backtracks", BACKTRACKING, ENDLESS],
  ["references that double", doubling(60), {}],
])("cuts the check of %s short, and makes it no second time, whoever reads the schema again", (_what, schema, value) => {
  const tool = read(schema);
  expect(checked(tool, value)).toEqual(TOO_LONG);
  expect(tool.parse({ a: "fine" })).toEqual(TOO_LONG);
  expect(read(schema).parse({ a: "fine" })).toEqual(TOO_LONG);
  expect(read({ type: "object" }).parse({})).toEqual({ value: {} });
});

it("refuses nobody's values for those of another owner", () => {
  const others = schemas.read(BACKTRACKING, "bob");
  expect(checked(schemas.read(BACKTRACKING, "eve"), ENDLESS)).toEqual(TOO_LONG);
  expect(others.parse({ a: "aaa" })).toEqual({ value: { a: "aaa" } });
});

it.each(["read", "readLater"] as const)("refuses nobody's values for those of another caller (%s)", (way) => {
  const tool = schemas[way](BACKTRACKING, "shared");
  expect(checked({ ...tool, parse: (value) => tool.parse(value, "eve") }, ENDLESS)).toEqual(TOO_LONG);
  expect(tool.parse({ a: "aaa" }, "eve")).toEqual(TOO_LONG);
  expect([tool.parse({ a: "aaa" }, "bob"), tool.parse({ a: "aaa" })]).toEqual(Array(2).fill({ value: { a: "aaa" } }));
});

it("takes no promise for a yes", () => {
  expect(read({ $async: true, type: "object", required: ["a"] }).parse({})).toHaveProperty("problems");
});

it("finds in a value what it has itself", () => {
  expect(read({ type: "object", required: ["toString"] }).parse({})).toHaveProperty("problems");
});

it("compiles a schema that takes too long again only after five minutes", async () => {
  let [compilations, now, usedMs] = [0, 0, 0];
  const idle = createTimeLimit(() => (usedMs += 1_000));
  const run: TimeLimit["run"] = (work, timeoutMs) => ((compilations += 1), idle.run(work, timeoutMs));
  const counted = await openJsonSchemas({ limit: { run }, now: () => now });
  const fields = Array.from({ length: 8_000 }, (_, at) => [`p${at}`, { minLength: at }]);
  const dear = { type: "object", properties: Object.fromEntries(fields) as object };
  for (let time = 0; time < 2; time += 1) expect(() => counted.read(dear, "ada")).toThrowError(/takes too long to compile/);
  expect(compilations).toBe(1);
  now = 300_000;
  expect(() => counted.read(dear, "ada")).toThrowError(/takes too long to compile/);
  expect(compilations).toBe(2);
});

describe("on a machine that is busy", () => {
  const BUSY = { problems: ["this machine is too busy to check them now: try again"] };
  const open = async () => {
    const machine = { isBusy: true };
    const run: TimeLimit["run"] = (work) => {
      if (!machine.isBusy) work();
      return machine.isBusy ? "stalled" : "ran";
    };
    return { machine, schemas: await openJsonSchemas({ limit: { run }, now: () => 0 }) };
  };

  it("refuses no schema, and compiles it with the first value that comes when it is not", async () => {
    const { machine, schemas: stalled } = await open();
    const tool = stalled.read(TEXT, "ada");
    expect(tool.parse({ text: "hi" })).toEqual(BUSY);
    machine.isBusy = false;
    expect(tool.parse({ text: "hi" })).toEqual({ value: { text: "hi" } });
    expect(tool.parse({})).toHaveProperty("problems");
    expect(() => stalled.read({ type: "object", properties: 5 }, "ada")).toThrowError(/cannot be used/);
  });

  it("refuses a value that it could not check, and the next ones of the same owner after five of them", async () => {
    const { machine, schemas: stalled } = await open();
    machine.isBusy = false;
    const schema = { type: "object", properties: { text: { pattern: "^h" } } };
    const [adas, bobs] = [stalled.read(schema, "ada"), stalled.read(schema, "bob")];
    for (let time = 0; time < 5; time += 1) {
      machine.isBusy = true;
      expect(adas.parse({ text: "hi" })).toEqual(BUSY);
      machine.isBusy = false;
      expect(adas.parse({ text: "hi" })).toEqual(time < 4 ? { value: { text: "hi" } } : TOO_LONG);
    }
    expect(bobs.parse({ text: "hi" })).toEqual({ value: { text: "hi" } });
  });
});

it("compiles a schema that is read for later with its first value, and tells at once what needs no compiler", () => {
  const later = (schema: unknown) => schemas.readLater(schema, "later");
  expect(() => later({ type: "object", properties: { a: { $ref: "https://example.test/a" } } })).toThrow(/refers to another document/);
  expect(() => later({ type: "object", $dynamicRef: "other.json" })).toThrow(/refers to another document/);
  expect(() => later({ type: "object", properties: { a: deep(10_000) } })).toThrow(/more than 64 levels/);
  expect(later({ type: "object", properties: { a: { pattern: "(" } } }).parse({})).toHaveProperty("problems");
  const good = later({ type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "number" } } });
  expect(checked(good, { a: 1 })).toEqual({ value: { a: 1 } });
  expect(checked(good, { a: "x" })).toEqual({ problems: ["a: must be number"] });
});
