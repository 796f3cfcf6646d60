import { expect, it } from "vitest";
import type { WorkspaceChange } from "../../sandbox/workspace/workspace-change.ts";
import { coloursFor } from "../colours.ts";
import { renderStat } from "./render-stat.ts";

const PLAIN = coloursFor({}, {});
const file = { type: "file", size: 9, mode: 0o644 } as const;
const change = (path: string, more: object): WorkspaceChange =>
  ({ kind: "modified", path, key: path, guest: file, host: file, ...more }) as unknown as WorkspaceChange;

it("scales its signs to the terminal, and shortens names at their start", () => {
  const patch = `--- a/x\n+++ b/x\n@@ -1 +1 @@\n${"+a\n".repeat(300)}-b\n`;
  const [row = ""] = renderStat([change(`${"long/".repeat(20)}end`, { patch })], PLAIN, 60).split("\n");
  expect(row).toMatch(/^ \.\.\.(?:ng|g)?\/?(?:long\/)+end \| 301 \++-$/);
  expect(row.length).toBeLessThanOrEqual(60);
});

it("takes any number of changes", () => {
  const changes = Array.from({ length: 200_000 }, () => change("x", { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-y\n+z\n" }));
  expect(renderStat(changes, PLAIN)).toMatch(/ x \| 2 \+-\n 200000 changed, 200000 line\(s\) added, 200000 line\(s\) removed\n$/);
});

it("counts lines that look like a header, and notes what has none", () => {
  const patch = "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- x\n-y\n+++ z\n";
  const rows = [change("x", { patch }), change("m", { kind: "mode_changed", guest: { ...file, mode: 0o755 } })];
  expect(renderStat(rows, PLAIN)).toBe(" x | 3 +--\n m | 644 -> 755\n 2 changed, 1 line(s) added, 2 line(s) removed\n");
  expect(renderStat([], PLAIN)).toBe("");
});
