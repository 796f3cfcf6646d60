import { describe, expect, it } from "vitest";
import { firstText, renderContents, renderResult } from "./render-content.ts";

const NO_TEXT = { toString: 1, valueOf: null };

describe("what a server says", () => {
  it.each([
    ["nothing", undefined],
    ["no object", [7, null, "x", []]],
    ["objects that cannot become texts", [NO_TEXT, { type: NO_TEXT, text: NO_TEXT, mimeType: NO_TEXT, resource: NO_TEXT }]],
  ])("may be %s", (_what, contents) => {
    expect(renderContents(contents)).toMatch(/^(?:\[[\w ]+\]\n?)+$/);
  });

  it("is a result with data alone, or with nothing", () => {
    expect(renderResult({ content: [], structuredContent: { a: 1 } })).toBe('{\n  "a": 1\n}');
    expect(renderResult({})).toBe("");
  });

  it("is taken as a text only where it is one", () => {
    expect([firstText(NO_TEXT, 5, "b", "c"), firstText(NO_TEXT)]).toEqual(["b", ""]);
  });
});
