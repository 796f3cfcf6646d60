/** How much time the tests of one mutant may take when nothing is changed, by kind: the mutants that survive take all of it. */
const BUDGETS_MS = { unit: 4_000, across: 8_000, slow: 30_000 };

/**
 * The tests for a place in a source, in the order in which they are run, as parts `[{ file, id, name, ms }]`: unit tests, tests across rooms, and
 * tests in real sandboxes and of the contract. The files come with the nearest first.
 */
export function chooseTests(learnt, files, { source, counter, isSlow }) {
  const kindOf = (file) => (isSlow(file) ? "slow" : file.startsWith("src/") ? "unit" : "across");
  return Object.entries(BUDGETS_MS).flatMap(([kind, budgetMs]) => {
    const ranked = files
      .filter((file) => kindOf(file) === kind)
      .map((file) => ({ file, ranks: rankTests(learnt.get(file), source, counter) }));
    const candidates = ["own", "near", "rest"].flatMap((rank) =>
      ranked.flatMap(({ file, ranks }) => ranks[rank].map((test) => ({ file, id: test.id, name: test.name, ms: test.ms }))),
    );
    const part = [];
    const loaded = new Set();
    let sumMs = 0;
    for (const test of candidates) {
      const ms = test.ms + (loaded.has(test.file) ? 0 : learnt.get(test.file).loadMs);
      // On a busy machine each file may have taken longer to load than that: the nearest one is loaded whatever it takes.
      if (part.length > 0 && sumMs + ms > budgetMs) continue;
      sumMs += part.length > 0 ? ms : test.ms;
      part.push({ ...test, ms });
      loaded.add(test.file);
    }
    return part.length > 0 ? [part] : [];
  });
}

/**
 * Tests that run the place come first, the cheapest of them first. A place that runs when a file is loaded, as a constant, is shared by all
 * tests of the file: those that run anything of the source are likelier to notice.
 */
function rankTests({ tests, shared }, source, counter) {
  const cheapest = tests.toSorted((one, other) => one.ms - other.ms);
  const own = cheapest.filter(({ hits }) => hits[source]?.includes(counter));
  if (!shared[source]?.includes(counter)) return { own, near: [], rest: [] };
  const near = cheapest.filter((test) => !own.includes(test) && test.hits[source]);
  return { own, near, rest: cheapest.filter((test) => !own.includes(test) && !near.includes(test)) };
}
