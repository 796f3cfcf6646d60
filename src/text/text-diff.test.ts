import * as fc from "fast-check";
import { expect, it } from "vitest";
import { fromByteText, toByteText } from "./byte-text.ts";
import { applyHunks } from "./patch/apply-hunks.ts";
import { parsePatch } from "./patch/plan-patch.ts";
import { diffTexts } from "./text-diff.ts";

const line = fc.constantFrom("a", "b", "", "é", "c\r", "-- x", "++ y");
const file = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
  .map(([lines, isOpen]) => lines.join("\n") + (isOpen || lines.length === 0 ? "" : "\n"));

function diff(before: string, after: string) {
  return diffTexts({ from: "a/f", to: "b/f", before: Buffer.from(before), after: Buffer.from(after) });
}

function apply(before: string, patch: string): unknown {
  const [parsed] = parsePatch(patch);
  const outcome = applyHunks(toByteText(before), parsed?.kind === "update" ? parsed.hunks : []);
  return "text" in outcome ? fromByteText(outcome.text).toString() : outcome;
}

it("describes how to turn one text into the other, for any two texts", () => {
  fc.assert(
    fc.property(file, file, (before, after) => {
      fc.pre(before !== after);
      expect(apply(before, diff(before, after).diff ?? "")).toBe(after);
    }),
    { numRuns: 3_000 },
  );
});

it("shows three lines around a change in the middle of a large text, with their numbers", () => {
  const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index + 1}\n`);
  const { diff: shown, isWhole } = diff(lines.join(""), lines.with(49_999, "changed\n").join(""));
  const around = (from: number) => [0, 1, 2].map((more) => ` line ${from + more}\n`).join("");
  const head = "--- a/f\n+++ b/f\n@@ -49997,7 +49997,7 @@\n";
  expect(shown).toBe(`${head}${around(49_997)}-line 50000\n+changed\n${around(50_001)}`);
  expect(isWhole).toBe(false);
});

it("replaces all lines if the texts have little in common, and reports it", () => {
  const before = Array.from({ length: 3_000 }, (_, index) => `old ${index}\n`).join("");
  const after = Array.from({ length: 3_000 }, (_, index) => `new ${index}\n`).join("");
  const { diff: shown = "", isWhole } = diff(`same\n${before}end`, `same\n${after}end`);
  expect(isWhole).toBe(true);
  expect(shown).toMatch(/^--- a\/f\n\+\+\+ b\/f\n@@ -2,3000 \+2,3000 @@\n-old 0\n/);
  expect(apply(`same\n${before}end`, shown)).toBe(`same\n${after}end`);
});

it("shows no change that is too large or not text, and reports its size", () => {
  expect(diff("", "a".repeat(2_000_000))).toEqual({ diff: undefined, isWhole: true, changedBytes: 2_000_000 });
  expect(diff("a\n", "a\n\0")).toEqual({ diff: undefined, isWhole: true, changedBytes: 1 });
  expect(diff("a", "a")).toEqual({ diff: "", isWhole: false, changedBytes: 0 });
});
