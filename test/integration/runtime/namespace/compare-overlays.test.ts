import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { openLayerLab } from "../../../support/layer-lab.ts";

const PROGRAM = join(import.meta.dirname, "../../../fixtures/overlay-states.py");
const IN_OVERLAYS = ["unshare", "--user", "--map-root-user", "--mount", "--", "python3", PROGRAM];

type Tree = Readonly<Record<string, readonly unknown[]>>;

const path = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const text = fc.constantFrom("one", "two", "three", "");
const change = fc.oneof(
  { arbitrary: fc.tuple(fc.constant("write"), path, text), weight: 4 },
  { arbitrary: fc.tuple(fc.constant("folder"), path), weight: 4 },
  { arbitrary: fc.tuple(fc.constant("remove"), path), weight: 3 },
  { arbitrary: fc.tuple(fc.constant("move"), path, path), weight: 2 },
  fc.tuple(fc.constant("link"), path, text.filter((one) => one !== "")),
  fc.tuple(fc.constant("hard"), path, path),
  fc.tuple(fc.constant("mode"), path, fc.constantFrom(0o700, 0o755, 0o644)),
  fc.tuple(fc.constant("touch"), path),
); // prettier-ignore
const changes = fc.array(change, { maxLength: 14 });

/** What a person sees differ, by a comparison of all of both trees. */
function differences(before: Tree, after: Tree): readonly string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths.filter((one) => JSON.stringify(before[one]) !== JSON.stringify(after[one])).toSorted();
}

it("what differs between states of real overlays is what differs between their whole trees", async () => {
  await fc.assert(
    fc.asyncProperty(changes, changes, changes, changes, async (first, second, third, fourth) => {
      using lab = openLayerLab();
      lab.layer("empty");
      const states = [
        { name: "template", lower: ["empty"], changes: [["folder", "a"], ["folder", "a/b"], ["write", "a/b/c", "deep"], ["folder", "b"], ["write", "b/a", "x"], ...first] },
        { name: "frozen", lower: ["template"], changes: second },
        { name: "later", lower: ["frozen", "template"], changes: third },
        { name: "fork", lower: ["frozen", "template"], changes: fourth },
      ]; // prettier-ignore
      const input = JSON.stringify({ folder: lab.folder, states });
      const trees = JSON.parse(execFileSync("/usr/bin/env", IN_OVERLAYS, { input, encoding: "utf8" })) as readonly Tree[];
      const views = states.map(({ name, lower }, index) => (index === 2 ? lab.state(lower, name) : lab.state([name, ...lower])));
      for (const [i, before] of views.entries())
        for (const [j, after] of views.entries()) {
          const found = (await lab.compare(before, after)).map((one) => one.path.toString());
          expect({ i, j, found: found.toSorted() }).toEqual({ i, j, found: differences(trees[i] ?? {}, trees[j] ?? {}) });
        }
    }),
    { numRuns: 12 },
  );
}, 240_000);
