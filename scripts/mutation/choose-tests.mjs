/** How much time the tests of one mutant may take when nothing is changed, by kind: the mutants that survive take all of it. */
const BUDGETS_MS = { unit: 4_000, across: 8_000, slow: 12_000 };

/**
 * The tests for a place in a source, in the order in which they are run, as parts `[{ file, id, name, ms }]`: unit tests, tests across rooms, and
 * tests in real sandboxes and of the contract. The files come with the nearest first.
 */
export function chooseTests(learnt, files, { source, counter, isSlow }) {
  const kindOf = (file) => (isSlow(file) ? "slow" : file.startsWith("src/") ? "unit" : "across");
  return Object.entries(BUDGETS_MS).flatMap(([kind, budgetMs]) => {
    const part = [];
    let sumMs = 0;
    for (const file of files.filter((each) => kindOf(each) === kind)) {
      const { loadMs } = learnt.get(file);
      let isLoaded = false;
      for (const { id, name, ms } of reaching(learnt.get(file), source, counter)) {
        const costMs = isLoaded ? ms : loadMs + ms;
        if (sumMs + costMs > budgetMs) break;
        part.push({ file, id, name, ms: costMs });
        sumMs += costMs;
        isLoaded = true;
      }
    }
    return part.length > 0 ? [part] : [];
  });
}

/** What runs when a file is loaded is shared by all its tests; of those the ones that run anything else of the source come first. */
function reaching({ tests, shared }, source, counter) {
  const cheapest = tests.toSorted((one, other) => one.ms - other.ms);
  const own = cheapest.filter(({ hits }) => hits[source]?.includes(counter));
  if (!shared[source]?.includes(counter)) return own;
  const near = cheapest.filter((test) => !own.includes(test) && test.hits[source]);
  return [...own, ...near, ...cheapest.filter((test) => !own.includes(test) && !near.includes(test))];
}
