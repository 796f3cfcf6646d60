import { openTestProcess } from "./run-tests.mjs";

/** A mutant that never ends is noticed too: its tests have twice what they take otherwise, and this. */
const PATIENCE_MS = 10_000;
const LEAST_TIMEOUT_MS = 5_000;
const UNCHANGED = {};

/**
 * Tells of a mutant whether tests notice it: `killed`, `endless` or `survived`. A failure counts when the failing tests, run again by
 * themselves, fail with the mutant and pass without it. `usable` remembers the latter, and is shared by all judges.
 */
export function openJudge(usable) {
  const runner = openTestProcess(["judge"]);

  const run = async (mutant, tests) => {
    const files = [...new Set(tests.map(({ file }) => file))];
    const work = files.map((file) => ({ file, ids: tests.filter((test) => test.file === file).map(({ id }) => id) }));
    const sumMs = tests.reduce((sum, { ms }) => sum + ms, 0);
    const timeoutMs = Math.max(LEAST_TIMEOUT_MS, ...tests.map(({ ms }) => 5 * ms));
    const answer = await runner.ask({ ...mutant, tests: work, timeoutMs }, 2 * sumMs + PATIENCE_MS);
    if (answer === undefined) return { outcome: "endless", suspects: tests };
    if (answer.failed.length === 0 && answer.uncaught === 0) return { outcome: "passed" };
    const suspects = tests.filter(({ file, id }) => answer.failed.includes(id) || answer.broken.includes(file));
    return { outcome: "killed", suspects: suspects.length > 0 ? suspects : tests };
  };

  const passUnchanged = async (tests) => {
    if (tests.every(({ id }) => usable.has(id))) return true;
    for (let tries = 0; tries < 2; tries += 1) {
      if ((await run(UNCHANGED, tests)).outcome !== "passed") continue;
      if (tests.length === 1) usable.add(tests[0].id);
      return true;
    }
    return false;
  };

  const judgePart = async (mutant, part) => {
    let rest = part;
    while (rest.length > 0) {
      const { outcome, suspects } = await run(mutant, rest);
      if (outcome === "passed") break;
      const again = await run(mutant, suspects);
      if (again.outcome !== "passed" && (await passUnchanged(suspects))) return { outcome: again.outcome, by: suspects };
      rest = rest.filter((test) => !suspects.includes(test));
    }
    return { outcome: "survived", by: [] };
  };

  return {
    async judge(mutant, parts) {
      for (const part of parts) {
        const judged = await judgePart(mutant, part);
        if (judged.outcome !== "survived") return judged;
      }
      return { outcome: parts.length > 0 ? "survived" : "untested", by: [] };
    },
    close: () => runner.close(),
  };
}
