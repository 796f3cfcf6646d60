import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHunks, splitHunk, takeChanges } from "./choose-lines.ts";
import { diffTexts } from "./text-diff.ts";

const line = fc.constantFrom("a\n", "b\n", "--- c\n", "+++ d\n", "@@ e\n", "\\ f\n", "\n", "g\r\n");
const text = fc
  .tuple(fc.array(line, { maxLength: 40 }), fc.constantFrom("", "open", "-", "+ open"))
  .map(([lines, end]) => lines.join("") + end);

const hunksOf = (before: string, after: string) =>
  readHunks(diffTexts({ from: "a", to: "b", before: Buffer.from(before), after: Buffer.from(after) }).diff ?? "");

describe("takeChanges", () => {
  it("makes the new text of all hunks, and the old one of none", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const hunks = hunksOf(before, after);
        expect(
          takeChanges(
            before,
            hunks.flatMap(({ changes }) => changes),
          ),
        ).toBe(after);
        expect(
          takeChanges(
            before,
            hunks.flatMap(splitHunk).flatMap(({ changes }) => changes),
          ),
        ).toBe(after);
        expect(takeChanges(before, [])).toBe(before);
      }),
    );
  });

  it("takes any number of lines", () => {
    const before = "\n".repeat(200_000);
    const changes = [{ from: 200_000, to: 200_000, lines: Array.from({ length: 200_000 }, () => "x\n") }];
    expect(takeChanges(before, changes)).toBe(before + "x\n".repeat(200_000));
  });

  it("leaves for later what was not chosen, whichever parts these are", () => {
    fc.assert(
      fc.property(text, text, fc.array(fc.boolean(), { maxLength: 20 }), (before, after, chosen) => {
        const parts = hunksOf(before, after).flatMap(splitHunk);
        const half = takeChanges(
          before,
          parts.filter((_, index) => chosen[index] ?? false).flatMap(({ changes }) => changes),
        );
        expect(
          takeChanges(
            half,
            hunksOf(half, after).flatMap(({ changes }) => changes),
          ),
        ).toBe(after);
      }),
    );
  });
});

describe("splitHunk", () => {
  it("makes a part of each run of changed lines, with the lines around it and their numbers", () => {
    const [hunk] = hunksOf("1\n2\n3\n4\n5\n", "one\n2\n3\nfour\n5\nsix\n");
    if (!hunk) throw new TypeError("There is one");
    expect(splitHunk(hunk).map(({ header, shown }) => [header, ...shown])).toEqual([
      ["@@ -1,3 +1,3 @@", "-1", "+one", " 2", " 3"],
      ["@@ -2,4 +2,4 @@", " 2", " 3", "-4", "+four", " 5"],
      ["@@ -5,1 +5,2 @@", " 5", "+six"],
    ]);
  });

  it("leaves one alone that has one run", () => {
    const [hunk] = hunksOf("1\n2\n3\n", "1\nb\n3\n");
    if (!hunk) throw new TypeError("There is one");
    expect(splitHunk(hunk)).toEqual([hunk]);
  });
});
