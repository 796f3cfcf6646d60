/**
 * `npm run mutate [-- --sample 500] [--seed N] [--minutes 60] [--only FOLDER] [--json FILE]`: makes small changes in the sources, one at a
 * time, and looks whether the unit and contract tests that import the source notice. docs/mutation.md has the score and says how to read it.
 */
import { writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, Problem, main, say } from "./lib.mjs";
import { applyMutant, describeMutant, mutantsOf } from "./mutation/mutants.mjs";
import { createRelatedTests, sourcesBelow } from "./mutation/related-tests.mjs";
import { openTestRunner } from "./mutation/test-runner.mjs";

/** What a change of which must not pass unseen. */
const ROOMS = ["src/sandbox", "src/catalog", "src/audit", "src/secrets", "src/network", "src/gateway/auth", "src/runtime/namespace"];
/** What starts a whole Belljar or makes real sandboxes takes too long to be run for each mutant; of those the contract suite alone is. */
const SLOW = ["src/runtime/namespace/namespace-runtime.ts", "test/support/belljar-cli.ts"];
const CONTRACTS = ["test/contract/fake.test.ts", "test/contract/namespace.test.ts"];
const OPTIONS = {
  sample: { type: "string", default: "500" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  minutes: { type: "string", default: "60" },
  only: { type: "string", multiple: true, default: ROOMS },
  json: { type: "string" },
};
/** Of a hundred mutants, that many must be noticed. */
const LEAST = 85;

const isTest = (path) => path.endsWith(".test.ts");

function allMutants(folders) {
  const texts = new Map();
  const mutants = folders.flatMap((folder) =>
    sourcesBelow(ROOT, folder)
      .filter((path) => !isTest(path))
      .toSorted()
      .flatMap((path) => {
        const text = readFileSync(join(ROOT, path), "utf8");
        texts.set(path, text);
        return mutantsOf(path, text);
      }),
  );
  return { mutants, texts };
}

/** Mulberry32: the same seed gives the same sample, everywhere. */
function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sampleOf(mutants, size, seed) {
  const random = createRandom(seed);
  const rest = [...mutants];
  const picked = [];
  while (picked.length < size && rest.length > 0) picked.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return picked;
}

function scoreOf(outcomes) {
  const noticed = outcomes.filter(({ outcome }) => outcome === "killed" || outcome === "endless").length;
  return { noticed, of: outcomes.length, percent: outcomes.length === 0 ? 0 : (100 * noticed) / outcomes.length };
}

function summarise(folders, outcomes) {
  const rows = folders.map((folder) => [folder, scoreOf(outcomes.filter(({ path }) => path.startsWith(`${folder}/`)))]);
  for (const [name, { noticed, of, percent }] of [...rows, ["all", scoreOf(outcomes)]])
    process.stdout.write(`${name.padEnd(24)} ${String(noticed).padStart(4)} of ${String(of).padStart(4)}  ${percent.toFixed(1)} %\n`);
}

/** One after the other, as many as the time allows. */
async function judgeAll(sample, { texts, relatedTests, until }) {
  const outcomes = [];
  const runner = openTestRunner();
  try {
    for (const mutant of sample) {
      if (performance.now() > until) break;
      const { path } = mutant;
      const text = texts.get(path);
      const { outcome, by = [] } = await runner.judge({ path, text: applyMutant(text, mutant) }, relatedTests(path));
      const what = describeMutant(text, mutant);
      outcomes.push({ path, outcome, by, what });
      say(`${outcomes.length} ${outcome}: ${what}${by.length > 0 ? ` (${by.join(", ")})` : ""}`);
    }
    return outcomes;
  } finally {
    await runner.close();
  }
}

await main(async () => {
  const { values } = parseArgs({ options: OPTIONS });
  const [size, seed, minutes] = [values.sample, values.seed, values.minutes].map(Number);
  const { mutants, texts } = allMutants(values.only);
  const sample = sampleOf(mutants, size, seed);
  say(`${sample.length} of ${mutants.length} mutants, seed ${seed}, at most ${minutes} minutes`);
  const tests = ["src", "test/integration"].flatMap((folder) => sourcesBelow(ROOT, folder).filter(isTest));
  const relatedTests = createRelatedTests(ROOT, { tests, never: SLOW, always: CONTRACTS });
  const outcomes = await judgeAll(sample, { texts, relatedTests, until: performance.now() + minutes * 60_000 });
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ seed, sample: size, of: mutants.length, outcomes }, null, 2)}\n`);
  process.stdout.write(
    `\nSurvivors:\n${outcomes.flatMap(({ outcome, what }) => (outcome === "survived" || outcome === "untested" ? [`${outcome}: ${what}\n`] : [])).join("")}\n`,
  );
  summarise(values.only, outcomes);
  if (outcomes.length < sample.length) throw new Problem(`The time ended after ${outcomes.length} of ${sample.length} mutants`);
  if (scoreOf(outcomes).percent < LEAST) throw new Problem(`Less than ${LEAST} % of the mutants were noticed`);
});
