import { describe, expect, it } from "vitest";
import { unitSpecSchema } from "./stored-unit.ts";

const CODE = { language: "python", code: "x = 1" };

function isTaken(more: object): boolean {
  return unitSpecSchema.safeParse({ ...CODE, ...more }).success;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

describe("the body that adds a unit", () => {
  it("is the code alone, or all that a unit may need", () => {
    const all = {
      ...CODE,
      name: "memo.create",
      requirements: ["requests==2.32.0"],
      network: { allow: ["api.example.com"] },
      secrets: { KEY: { secret: "key", hosts: ["api.example.com"] } },
      limits: { memoryBytes: 1 },
      reuse: "session",
      timeoutMs: 1,
      tests: [{ tool: "x", arguments: { a: [null] }, expect: { text: "", structured: { a: 1 }, error: "no" } }],
    };
    expect(unitSpecSchema.parse(CODE)).toEqual(CODE);
    expect(unitSpecSchema.parse(all)).toEqual(all);
  });

  it("is refused with what is not known or of another kind", () => {
    for (const more of [{ language: "perl" }, { code: 1 }, { code: "" }, { requirments: [] }, { reuse: "always" }, { network: "some" }])
      expect([more, isTaken(more)]).toEqual([more, false]);
    for (const more of [{ limits: { memoryBytes: -1 } }, { limits: { ram: 1 } }, { secrets: { "not a name": {} } }, { timeoutMs: 0 }])
      expect([more, isTaken(more)]).toEqual([more, false]);
    for (const test of [{}, { arguments: [], expect: {} }, { arguments: {}, expect: { txt: "" } }])
      expect(isTaken({ tests: [test] })).toBe(false);
  });

  it("is bounded in every part", () => {
    const test = { arguments: {}, expect: {} };
    expect(isTaken({ code: "é".repeat(2 ** 19) })).toBe(true);
    expect(isTaken({ code: `${"é".repeat(2 ** 19)}x` })).toBe(false);
    expect(isTaken({ requirements: Array.from({ length: 100 }, () => "x".repeat(200)) })).toBe(true);
    expect(isTaken({ requirements: Array.from({ length: 101 }, () => "x") })).toBe(false);
    expect(isTaken({ requirements: ["x".repeat(201)] })).toBe(false);
    expect(isTaken({ tests: Array.from({ length: 50 }, () => test) })).toBe(true);
    expect(isTaken({ tests: Array.from({ length: 51 }, () => test) })).toBe(false);
    expect(isTaken({ tests: [{ ...test, expect: { structured: nested(99) } }] })).toBe(true);
    expect(isTaken({ tests: [{ ...test, expect: { structured: nested(50_000) } }] })).toBe(false);
    expect(isTaken({ tests: [{ ...test, arguments: { a: nested(50_000) } }] })).toBe(false);
    expect(isTaken({ name: "x".repeat(101) })).toBe(false);
  });

  it("is refused with a name that is a path or has control characters", () => {
    for (const name of ["memo.create", "Wetter für Łódź", "🦄", "a..b", "-x"]) expect([name, isTaken({ name })]).toEqual([name, true]);
    for (const name of ["", ".", "..", "...", "../x", "a/b", "a\\b", "a\0", "a\nb", "\ud800"])
      expect([name, isTaken({ name })]).toEqual([name, false]);
  });
});
