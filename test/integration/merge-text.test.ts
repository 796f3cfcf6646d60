import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { mergeTexts } from "../../src/text/merge-text.ts";

/** Undefined for a conflict. */
function gitMerge(folder: string, [base, ours, theirs]: readonly [string, string, string]): string | undefined {
  const paths = Object.entries({ ours, base, theirs }).map(([name, content]) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  });
  const { status, stdout } = spawnSync("git", ["merge-file", "-p", "--diff-algorithm=myers", ...paths], { encoding: "utf8" });
  const again = status === 129 ? spawnSync("git", ["merge-file", "-p", ...paths], { encoding: "utf8" }) : { status, stdout };
  return again.status === 0 ? again.stdout : undefined;
}

it("merges as git does, where each line stands once", () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-merge-file-"));
  try {
    const base = Array.from({ length: 12 }, (_, index) => `line ${index}\n`);
    const edit = fc.record({ at: fc.nat(11), kind: fc.constantFrom("change", "delete", "add"), to: fc.constantFrom("x\n", "y\n") });
    const edited = (edits: readonly { at: number; kind: string; to: string }[], side: string): string =>
      base
        .map((line, index) => {
          const found = edits.find(({ at }) => at === index);
          if (!found) return line;
          if (found.kind === "delete") return "";
          return found.kind === "add" ? `${line}${side}${index}${found.to}` : `${index}${found.to}`;
        })
        .join("");
    const edits = fc.array(edit, { maxLength: 4 });
    fc.assert(
      fc.property(edits, edits, (one, other) => {
        const texts = [base.join(""), edited(one, "o"), edited(other, "t")] as const;
        const [began, ours, theirs] = texts.map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
        expect(mergeTexts({ base: began, ours, theirs }).merged?.toString()).toBe(gitMerge(folder, texts));
      }),
      { numRuns: 300 },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
