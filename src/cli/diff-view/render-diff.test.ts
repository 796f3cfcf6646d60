import { expect, it } from "vitest";
import type { Entry, HostEntry } from "../../sandbox/workspace/entry.ts";
import type { WorkspaceChange, WorkspaceDiff } from "../../sandbox/workspace/workspace-change.ts";
import { coloursFor } from "../colours.ts";
import { renderDiff } from "./render-diff.ts";

const entry = (type: Entry["type"], size = 3, mode = 0o644) => ({ type, size, mode }) as Entry & HostEntry;
const render = (changes: readonly Partial<WorkspaceChange>[], skipped: WorkspaceDiff["skipped"] = []) =>
  renderDiff(
    {
      sandboxId: "id",
      hostPath: "/host",
      changes: changes as readonly WorkspaceChange[],
      conflicts: [],
      held: [],
      settled: [],
      ignored: 0,
      commits: 0,
      skipped,
    },
    { colours: coloursFor({}, {}) },
  );

it.each([
  ["a new folder with a slash", { kind: "added", path: "d", guest: entry("directory") }, "A d/\n"],
  ["a binary with its size", { kind: "added", path: "b", guest: entry("file", 9), isBinary: true }, "A b (binary, 9 bytes)\n"],
  ["a file that is too large with its size", { kind: "removed", path: "f", host: entry("file", 9) }, "D f (too large to show: 9 bytes)\n"],
  ["an empty file by its name alone", { kind: "added", path: "f", guest: entry("file", 0) }, "A f\n"],
  ["a removed link by its name alone", { kind: "removed", path: "l", host: entry("link") }, "D l\n"],
  [
    "another mode in octal",
    { kind: "mode_changed", path: "m", host: entry("file", 3, 0o644), guest: entry("file", 3, 0o755) },
    "m m (644 -> 755)\n",
  ],
  ["another type", { kind: "type_changed", path: "t", host: entry("file"), guest: entry("link") }, "T t (file -> link)\n"],
] as const)("shows %s", (_what, change, text) => {
  expect(render([change as Partial<WorkspaceChange>])).toBe(text);
});

it("names what was left out, then shows patches that cannot steer the terminal", () => {
  const change = { kind: "modified", path: "f", guest: entry("file"), host: entry("file"), patch: "+a\u001b[2J\n" } as const;
  const text = render([change], [{ path: "s", reason: "it is a socket" }]);
  expect(text).toMatch(/^M f\n! s: left out, it is a socket\n\n\+a/);
  expect(text).not.toContain("\u001b");
});

it("names a hundred entries that were left out, and counts the others", () => {
  const skipped = Array.from({ length: 103 }, (_, index) => ({ path: `s${index}`, reason: "it is a socket" }));
  const lines = render([], skipped).trimEnd().split("\n");
  expect(lines).toHaveLength(101);
  expect(lines.slice(-2)).toEqual(["! s99: left out, it is a socket", "! 3 more left out: --json names them"]);
  expect(render([], skipped.slice(3))).not.toContain("more left out");
});
