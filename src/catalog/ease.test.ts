import { describe, expect, it } from "vitest";
import * as z from "zod";
import { otherNames } from "./accept.ts";
import { zodSchema } from "./tool-schema.ts";

const schema = zodSchema(
  z.strictObject({
    path: z.string().min(1),
    count: z.number().int().min(1).optional(),
    ratio: z.number().optional(),
    deep: z.boolean().optional(),
    mode: z.enum(["a", "b"]).optional(),
    code: z.string().optional(),
    env: z.array(z.string().regex(/^[^=\0]+=[^\0]*$/)).optional(),
    rows: z.array(z.strictObject({ size: z.number(), all: z.boolean().optional(), note: z.string().max(3).optional() })).optional(),
  }),
  { accept: otherNames({ file_path: "path" }) },
);

const valueOf = (args: unknown) => {
  const parsed = schema.parse(args);
  return "value" in parsed ? parsed.value : parsed.problems;
};

describe("arguments", () => {
  it.each([
    [{ path: "a", count: null, mode: null, code: null, rows: null }, { path: "a" }],
    [{ path: "a", count: "", mode: "", deep: "", rows: "", env: "" }, { path: "a" }],
    [
      { path: "a", code: "" },
      { path: "a", code: "" },
    ],
    [
      { path: "a", code: "", mode: "" },
      { path: "a", code: "" },
    ],
    [
      { path: "a", count: "12", ratio: "-.5", deep: "false" },
      { path: "a", count: 12, ratio: -0.5, deep: false },
    ],
    [
      { path: "a", code: "12" },
      { path: "a", code: "12" },
    ],
    [
      { path: "a", rows: [{ size: "3", all: "true", note: null }] },
      { path: "a", rows: [{ size: 3, all: true }] },
    ],
    [
      { path: "a", env: { A: "1", B: "x=y" } },
      { path: "a", env: ["A=1", "B=x=y"] },
    ],
    [{ file_path: "b" }, { path: "b" }],
  ])("%j are taken as %j", (given, taken) => {
    expect(valueOf(given)).toEqual(taken);
  });

  it.each([
    [{ path: null }, "path: "],
    [{ path: "" }, "path: "],
    [{ path: "a", count: "many" }, "count: "],
    [{ path: "a", count: "1.5" }, "count: "],
    [{ path: "a", count: "0" }, "count: "],
    [{ path: "a", count: "0x10" }, "count: "],
    [{ path: "a", deep: "yes" }, "deep: "],
    [{ path: "a", env: { "A=B": "1" } }, "env: "],
    [{ path: "a", env: { A: 1 } }, "env: "],
    [{ path: "a", file_path: "b" }, "file_path"],
    [{ path: "a", unknown: null }, "unknown"],
    [{ path: "a", rows: [{ size: "x" }] }, "rows.0.size: "],
    ["text", "object"],
    [null, "object"],
  ])("%j are refused, as %s", (given, problem) => {
    expect(JSON.stringify(valueOf(given))).toContain(problem);
    expect(Array.isArray(valueOf(given))).toBe(true);
  });

  it("of any depth end the easing", () => {
    let deep: unknown = "1";
    for (let level = 0; level < 5_000; level += 1) deep = { rows: [deep] };
    expect(Array.isArray(valueOf(deep))).toBe(true);
  });
});

it("shows no other names, no propertyNames, and NUL as JSON Schema has it", () => {
  const shown = zodSchema(
    z.object({ env: z.record(z.string().regex(/^[^=\0]+$/), z.string()), text: z.string().regex(/^[^\0\n]*$/) }),
  ).schema;
  expect(JSON.stringify(shown)).not.toContain("propertyNames");
  expect(shown["properties"]).toMatchObject({ text: { pattern: String.raw`^[^\u0000\n]*$` } });
  expect(Object.keys(schema.schema["properties"] as object)).not.toContain("file_path");
});
