import { expect, it } from "vitest";
import { bytesAt, insertBelow } from "./insert-below.ts";

const TREE = '- list [e1]\n  - iframe "A" [e2]\n- button "B" [e3]';

const ROOM = { indent: 0, maxBytes: 200 };

it("puts the lines of a frame one level below its element", () => {
  expect(insertBelow(TREE, { ref: "e2", inner: "- one\n  - two", ...ROOM })).toBe(
    '- list [e1]\n  - iframe "A" [e2]\n    - one\n      - two\n- button "B" [e3]',
  );
  expect(insertBelow(TREE, { ref: "e2", inner: "", ...ROOM })).toBe(TREE);
  expect(insertBelow(TREE, { ref: "e9", inner: "- one", ...ROOM })).toBe(TREE);
});

it("cuts them at a line, however deep they stand", () => {
  const inner = Array.from({ length: 100 }, () => "- é").join("\n");
  for (const [maxBytes, indent] of [
    [100, 0],
    [101, 0],
    [500, 7],
  ] as const) {
    const text = insertBelow(TREE, { ref: "e2", inner, indent, maxBytes });
    expect(bytesAt(text, indent) - bytesAt(TREE, indent)).toBeLessThanOrEqual(maxBytes);
    expect(bytesAt(text, indent) - bytesAt(TREE, indent)).toBeGreaterThan(maxBytes - 20);
    expect(text).toContain("    - é\n    [cut: browser_snapshot with ref e2]\n- button");
  }
});
