import { describe, expect, it } from "vitest";
import { locateJson } from "./json-places.ts";

const TEXT = `{
  "tests": [
    { "a": 1 },
    { "arguments": {}, "expect":
      { "text": "\\u00e9 \\"}," } }
  ],
  "limits": {}
}`;

describe("places in JSON", () => {
  it("are the lines where values begin", () => {
    const { lineOf, faultLine } = locateJson(TEXT);
    expect(faultLine).toBeUndefined();
    expect([[], ["tests"], ["tests", 1], ["tests", 1, "expect"], ["limits"]].map(lineOf)).toEqual([1, 2, 4, 5, 7]);
  });

  it("are those of the nearest value around one that is absent", () => {
    const { lineOf } = locateJson(TEXT);
    expect(
      [
        ["tests", 1, "nothing"],
        ["tests", 9],
        ["absent", "deep"],
      ].map(lineOf),
    ).toEqual([4, 2, 1]);
  });

  it("agree with JSON.parse on what is JSON", () => {
    const texts = [
      "",
      "{",
      "[1,]",
      '{"a":1,}',
      '{"a" 1}',
      "{a:1}",
      "1 2",
      "01",
      "1.",
      "-",
      "+1",
      ".5",
      "1e5",
      "-0.5E-3",
      "nul",
      "null",
      "[]",
      "[[],{}]",
    ];
    const more = [
      '"\\x"',
      '"\\u12"',
      '"\t"',
      '"\u007f\u0085"',
      '"\ud800"',
      " 1 ",
      "\u00a01",
      "[1 2]",
      '{"a":1 "b":2}',
      '{"a"}',
      "{1:2}",
      "]",
      "'a'",
      "tru e",
      '""',
    ];
    for (const text of [...texts, ...more]) expect([text, locateJson(text).faultLine === undefined]).toEqual([text, isJson(text)]);
  });

  it("name the line of a fault", () => {
    expect(locateJson('{\n  "a": 1\n  "b": 2\n}').faultLine).toBe(3);
    expect(locateJson('{\n"a": [\n1,\n2').faultLine).toBe(4);
  });

  it("are found in long texts and refused in deep ones", () => {
    expect(locateJson(`["${"x".repeat(250_000)}"]`).faultLine).toBeUndefined();
    expect(locateJson("[".repeat(100) + "]".repeat(100)).faultLine).toBeUndefined();
    expect(locateJson("[".repeat(101) + "]".repeat(101)).faultLine).toBe(1);
    expect(locateJson("[".repeat(250_000)).faultLine).toBe(1);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
