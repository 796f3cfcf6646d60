import { describe, expect, it } from "vitest";
import { toToolArguments } from "./arguments-by-schema.ts";

const of = (properties: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) => ({
  type: "object",
  properties,
  ...more,
});

describe("a value becomes what the schema says", () => {
  it.each([
    ["string", { type: "string" }, "5", "5"],
    ["string with an equals sign", { type: "string" }, "a=b", "a=b"],
    ["string that looks like JSON", { type: "string" }, '{"a":1}', '{"a":1}'],
    ["quotes of a string", { type: "string" }, '"a"', '"a"'],
    ["empty string", { type: "string" }, "", ""],
    ["integer", { type: "integer" }, "-3", -3],
    ["number", { type: "number" }, ".5e1", 5],
    ["boolean", { type: "boolean" }, "false", false],
    ["null", { type: "null" }, "null", null],
    ["object", { type: "object" }, '{"a":[1]}', { a: [1] }],
    ["list as JSON", { type: "array", items: { type: "integer" } }, "[1,2]", [1, 2]],
    ["one item of a list", { type: "array", items: { type: "integer" } }, "7", [7]],
    ["one text of a list", { type: "array", items: { type: "string" } }, "[x", ["[x"]],
    ["optional integer", { anyOf: [{ type: "integer" }, { type: "null" }] }, "4", 4],
    ["optional text that is there", { type: ["string", "null"] }, "here", "here"],
    ["optional text that is not", { type: ["string", "null"] }, "null", null],
    ["text where a number may stand", { type: ["string", "integer"] }, '"5"', "5"],
    ["number where a text may stand", { type: ["string", "integer"] }, "5", 5],
    ["value of an enum", { enum: ["red", 3, null] }, "3", 3],
    ["text of an enum", { type: "string", enum: ["3"] }, "3", "3"],
    ["constant or a number", { anyOf: [{ const: "all" }, { type: "integer" }] }, "all", "all"],
    ["anything, as JSON", {}, "[1]", [1]],
    ["anything, as text", {}, "[1", "[1"],
    ["falsy JSON", {}, "0", 0],
    ["null as JSON", {}, "null", null],
  ])("%s", (_what, field, text, value) => {
    expect(toToolArguments(of({ it: field }), [`it=${text}`])).toEqual({ it: value });
  });

  it("follows references of the same document", () => {
    const schema = of({ level: { $ref: "#/$defs/a~1b" } }, { $defs: { "a/b": { enum: [1, 2] } } });
    expect(toToolArguments(schema, ["level=2"])).toEqual({ level: 2 });
  });

  it("makes a list of a key that is named several times", () => {
    const schema = of({ tag: { anyOf: [{ type: "array", items: { type: "number" } }, { type: "null" }] } });
    expect(toToolArguments(schema, ["tag=1", "tag=2"])).toEqual({ tag: [1, 2] });
  });

  it("ends on a schema that names itself", () => {
    const schema = of({ it: { $ref: "#/properties/it" } });
    expect(toToolArguments(schema, ["it=1"])).toEqual({ it: 1 });
  });
});

describe("other words", () => {
  it("takes one JSON object as it is", () => {
    expect(toToolArguments(of({ n: { type: "string" } }), ['{"n":1,"unknown":true}'])).toEqual({ n: 1, unknown: true });
  });

  it("takes no words", () => {
    expect(toToolArguments(of({}), [])).toEqual({});
  });

  it("takes any key of a schema that names none, and of one that is open", () => {
    expect(toToolArguments({ type: "object" }, ["a=1"])).toEqual({ a: 1 });
    expect(toToolArguments(of({ b: {} }, { additionalProperties: { type: "string" } }), ["a=1"])).toEqual({ a: "1" });
  });

  it("sets a key named __proto__ as any other", () => {
    const args = toToolArguments({ type: "object" }, ['__proto__={"a":1}']);
    expect(Object.keys(args)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
  });
});

describe("what cannot be meant is refused", () => {
  const schema = of({
    count: { type: "integer" },
    colour: { type: "string", enum: ["red", "blue"] },
    on: { type: "boolean" },
    odd: { type: ["toString", "__proto__"] },
  });
  it.each([
    [["count"], '"count" is neither key=value nor one JSON object'],
    [["=1"], '"=1" is neither key=value nor one JSON object'],
    [["{"], '"{" is no JSON object'],
    [["count=1.5"], '"count=1.5" is not a whole number'],
    [["count=9007199254740993"], '"count=9007199254740993" is not a whole number'],
    [["count="], '"count=" is not a whole number'],
    [["count=0x10"], '"count=0x10" is not a whole number'],
    [["on=yes"], '"on=yes" is not true or false'],
    [["colour=green"], '"colour=green" is not "red" or "blue"'],
    [["count=1", "count=2"], '"count=..." is there more than once, and takes one value'],
    [["cout=1"], 'There is no argument "cout". Did you mean "count"? The tool takes count, colour, on, odd'],
    [["on=constructor"], '"on=constructor" is not true or false'],
    [["on=toString"], '"on=toString" is not true or false'],
    [["odd=1"], '"odd=1" is not toString or __proto__'],
    [["zzz=1"], 'There is no argument "zzz". The tool takes count, colour, on, odd'],
  ])("%j", (words, message) => {
    expect(() => toToolArguments(schema, words)).toThrow(expect.objectContaining({ code: "USAGE", message }));
  });

  it("says that a tool takes no arguments", () => {
    const none = of({}, { additionalProperties: false });
    expect(() => toToolArguments(none, ["a=1"])).toThrow('There is no argument "a". The tool takes no arguments');
  });
});
