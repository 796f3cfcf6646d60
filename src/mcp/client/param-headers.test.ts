import { describe, expect, it } from "vitest";
import { readParamHeaders, toParamHeaders } from "./param-headers.ts";

const region = { type: "string", "x-mcp-header": "Region" };
const object = (properties: object): object => ({ type: "object", properties });

const many = (count: number): object =>
  object(Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, { type: "string", "x-mcp-header": `A${index}` }])));

describe("headers of arguments", () => {
  it("are those of properties at any depth", () => {
    const schema = object({ region, inner: object({ id: { type: "integer", "x-mcp-header": "Id" } }), plain: { type: "string" } });
    const headers = [
      { path: ["region"], name: "Region" },
      { path: ["inner", "id"], name: "Id" },
    ];
    expect(readParamHeaders(schema)).toEqual({ headers });
    expect(toParamHeaders(headers, { region: "eu", inner: { id: 7 }, plain: "x" })).toEqual({
      "Mcp-Param-Region": "eu",
      "Mcp-Param-Id": "7",
    });
  });

  it.each([
    ["a value", object({ a: { type: "object", default: { "x-mcp-header": "x y" } } })],
    ["a property", object({ "x-mcp-header": { type: "string" } })],
  ])("are not read from %s that is only called so", (_what, schema) => {
    expect(readParamHeaders(schema)).toEqual({ headers: [] });
  });

  it.each([
    ["an empty name", object({ a: { type: "string", "x-mcp-header": "" } })],
    ["a name with a space", object({ a: { type: "string", "x-mcp-header": "a b" } })],
    ["a name with a line break", object({ a: { type: "string", "x-mcp-header": "a\r\nb" } })],
    ["a name that is no text", object({ a: { type: "string", "x-mcp-header": 7 } })],
    ["a number", object({ a: { type: "number", "x-mcp-header": "A" } })],
    ["an object", object({ a: { type: "object", "x-mcp-header": "A" } })],
    ["one name twice", object({ a: region, b: { type: "string", "x-mcp-header": "REGION" } })],
    ["more than a hundred", many(101)],
    ["an item of a list", object({ a: { type: "array", items: region } })],
    ["a choice", { ...object({}), anyOf: [object({ a: region })] }],
    ["the whole schema", { ...object({}), ...region }],
  ])("are refused for %s", (_what, schema) => {
    expect(readParamHeaders(schema)).toEqual({ problem: expect.stringContaining("x-mcp-header") as unknown });
  });

  it("may be a hundred", () => {
    expect(readParamHeaders(many(100))).toEqual({ headers: expect.objectContaining({ length: 100 }) as unknown });
  });

  it("end at a schema that is nested without end", () => {
    let deep: object = region;
    for (let depth = 0; depth < 10_000; depth += 1) deep = object({ a: deep });
    expect(readParamHeaders(deep)).toEqual({ headers: [] });
  });

  it.each([
    ["us west", "us west"],
    ["", "=?base64??="],
    [" a", "=?base64?IGE=?="],
    ["a\r\nb: c", "=?base64?YQ0KYjogYw==?="],
    ["世", "=?base64?5LiW?="],
    ["=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="],
    [false, "false"],
    [null, undefined],
    [1.5, undefined],
    [{}, undefined],
  ])("carry %j as %s", (value, sent) => {
    expect(toParamHeaders([{ path: ["a"], name: "A" }], { a: value })["Mcp-Param-A"]).toBe(sent);
  });
});
