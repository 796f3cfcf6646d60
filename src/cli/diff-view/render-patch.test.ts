import { describe, expect, it } from "vitest";
import { coloursFor } from "../colours.ts";
import { renderPatch } from "./render-patch.ts";

const PLAIN = coloursFor({}, {});
const PAINTED = coloursFor({ isTTY: true }, { TERM: "xterm" });
const PATCH = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n same\n--- gone\n-old\n+++ came\n same\n\\ No newline at end of file\n";

describe("renderPatch", () => {
  it("paints what a line is in its hunk, not what it looks like", () => {
    const { bold, cyan, red, green } = PAINTED;
    const lines = [bold("--- a/f"), bold("+++ b/f"), cyan("@@ -1,4 +1,4 @@"), " same", red("--- gone"), red("-old"), green("+++ came")];
    expect(renderPatch(PATCH, { colours: PAINTED })).toBe([...lines, " same", "\\ No newline at end of file", ""].join("\n"));
  });

  it("puts lines that go beside lines that come in a wide terminal, and loses none", () => {
    const shown = renderPatch(PATCH, { colours: PLAIN, columns: 163 }).split("\n");
    const row = (left: string, right: string): string => `${left.padEnd(80)} | ${right}`.trimEnd();
    expect(shown.slice(3, 7)).toEqual([row(" same", " same"), row("--- gone", "+++ came"), row("-old", ""), row(" same", " same")]);
  });

  it("breaks long lines by what they take on the terminal", () => {
    const text = `@@ -1 +1 @@\n-${"日".repeat(50)}\n+\ta\u0301b\n`;
    expect(renderPatch(text, { colours: PLAIN, columns: 163 }).split("\n").slice(1, 3)).toEqual([
      `-${"日".repeat(39)}  | +${" ".repeat(7)}a\u0301b`,
      `${"日".repeat(11)}${" ".repeat(58)} |`,
    ]);
  });

  it("takes a line of any length", () => {
    for (const [sign, end] of [
      ["-", /x +\|$/],
      [" ", / \| +x$/],
    ] as const) {
      const rows = renderPatch(`@@ -1 +1 @@\n${sign}${"\t".repeat(1_500_000)}x\n`, { colours: PLAIN, columns: 160 }).split("\n");
      expect(rows.length).toBeGreaterThan(150_000);
      expect(rows.at(-2)).toMatch(end);
    }
  }, 60_000);

  it("lets nothing steer the terminal", () => {
    for (const columns of [0, 200])
      expect(renderPatch("@@ -1 +1 @@\n-a\r\u001B[2J\n+\u202Eb\n", { colours: PLAIN, columns })).toMatch(/^[\n -~]*$/);
  });
});
