import { createTwoFilesPatch } from "diff";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { fromByteText, toByteText } from "../byte-text.ts";
import { applyHunks } from "./apply-hunks.ts";
import type { FilePatch } from "./file-patch.ts";
import { parsePatch } from "./plan-patch.ts";

const line = fc.constantFrom("a", "b", "", " ", "-- x", "++ y", "@@", "--- a", "+++ b", "é", "*** End", "\\", "c\r", "\t");
const file = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
  .map(([lines, isOpen]) => lines.join("\n") + (isOpen || lines.length === 0 ? "" : "\n"));

function hunksOf(patch: FilePatch | undefined) {
  return patch?.kind === "update" || patch?.kind === "delete" ? patch.hunks : [];
}

function failureOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

it("turns one file into the other, for any two files and their diff", () => {
  fc.assert(
    fc.property(file, file, fc.integer({ min: 0, max: 4 }), (before, after, context) => {
      fc.pre(before !== after);
      const patch = createTwoFilesPatch("a/f", "b/f", before, after, undefined, undefined, { context });
      const [parsed, ...others] = parsePatch(patch);
      expect(others).toEqual([]);
      const outcome = applyHunks(toByteText(before), hunksOf(parsed));
      expect("text" in outcome ? fromByteText(outcome.text).toString() : outcome).toBe(after);
    }),
    { numRuns: 2_000 },
  );
});

it("applies the same change in the other grammar", () => {
  const plain = fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(plain, plain, (before, after) => {
      const body = [...before.map((text) => `-${text}`), ...after.map((text) => `+${text}`)];
      const [parsed] = parsePatch(["*** Begin Patch", "*** Update File: f", ...body, "*** End Patch"].join("\n"));
      expect(applyHunks(`${before.join("\n")}\n`, hunksOf(parsed))).toEqual({ text: `${after.join("\n")}\n` });
    }),
  );
});

it("parses or refuses any text, without any other error", () => {
  const part = fc.constantFrom(
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Update File: a\n",
    "*** Add File: b\n",
    "*** Delete File: c\n",
    "*** Move to: d\n",
    "*** End of File\n",
    "@@\n",
    "@@ x\n",
    "@@ -1,2 +3,4 @@\n",
    "--- a\n",
    "+++ b\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "diff --git a/x b/x\n",
    "rename from x\n",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "\\ No newline at end of file\n",
    "+x\n",
    "-x\n",
    " x\n",
    "\n",
    '"\\303',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const failure = failureOf(() => parsePatch(parts.join("")).map((patch) => applyHunks("x\n", hunksOf(patch))));
      expect(failure === undefined || failure instanceof BelljarError).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

it("applies hunks to a file of a million lines", () => {
  const lines = Array.from({ length: 1_000_000 }, (_value, index) => `${index % 10}`);
  const [parsed] = parsePatch("--- f\n+++ f\n@@ -500000,3 +500000,3 @@\n 9\n-0\n+zero\n 1\n");
  const outcome = applyHunks(`${lines.join("\n")}\n`, hunksOf(parsed));
  expect("text" in outcome && outcome.text.split("\n")[500_000]).toBe("zero");
});
