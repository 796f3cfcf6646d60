/**
 * `npm run mutate [-- --sample 500] [--seed N] [--minutes 60] [--only FOLDER] [--unit] [--json FILE] [--again FILE]`: makes small changes in
 * the sources, one at a time, and looks whether the tests that run the changed place notice. With `--unit` only the unit suite and the
 * contract on the fake runtime are run. With `--again` the survivors of an earlier `--json` are judged by the tests that have come or
 * changed since. docs/mutation.md has the score and says how to read it.
 */
import { writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, Problem, main, say } from "./lib.mjs";
import { chooseTests } from "./mutation/choose-tests.mjs";
import { createCounterOf } from "./mutation/coverage.mjs";
import { openJudge } from "./mutation/judge.mjs";
import { learnTests } from "./mutation/learn.mjs";
import { applyMutant, describeMutant, mutantsOf } from "./mutation/mutants.mjs";
import { compareNearness, createImports, roomPath, sourcesBelow } from "./mutation/related-tests.mjs";

/** What a change of which must not pass unseen. */
const ROOMS = ["src/sandbox", "src/catalog", "src/audit", "src/secrets", "src/network", "src/gateway/auth", "src/runtime/namespace"];
const TESTS = ["src", "test/integration", "test/security", "test/contract", "test/pins"];
const UNIT_TESTS = ["src", "test/contract"];
/** Tests that start a whole Belljar or make real sandboxes are slow: they are run for the sources of their own room alone. */
const SLOW = ["src/runtime/namespace/namespace-runtime.ts", "test/support/belljar-cli.ts"];
const CONTRACTS = "test/contract/";
/** Its code runs in real sandboxes alone, so all tests with real sandboxes are run for it. */
const REAL = "src/runtime/namespace";
/** So many mutants are judged at a time. */
const LANES = 2;
const OPTIONS = {
  sample: { type: "string", default: "500" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  minutes: { type: "string", default: "60" },
  only: { type: "string", multiple: true, default: ROOMS },
  json: { type: "string" },
  again: { type: "string" },
  unit: { type: "boolean", default: false },
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
  const noticed = outcomes.filter(isNoticed).length;
  return { noticed, of: outcomes.length, percent: outcomes.length === 0 ? 0 : (100 * noticed) / outcomes.length };
}

function summarise(folders, outcomes) {
  const rows = folders.map((folder) => [folder, scoreOf(outcomes.filter(({ path }) => path.startsWith(`${folder}/`)))]);
  for (const [name, { noticed, of, percent }] of [...rows, ["all", scoreOf(outcomes)]])
    process.stdout.write(`${name.padEnd(24)} ${String(noticed).padStart(4)} of ${String(of).padStart(4)}  ${percent.toFixed(1)} %\n`);
}

/** The tests of each mutant, learnt once for all of them. */
async function createTestChoice({ sample, known, isUnit }, texts) {
  const imports = createImports(ROOT);
  // A test beside its source makes no sandbox, whatever it imports.
  const isReal = (file) => !file.startsWith("src/") && SLOW.some((path) => imports.reachedBy(file).has(path));
  const isSlow = (file) => file.startsWith(CONTRACTS) || isReal(file);
  const files = (isUnit ? UNIT_TESTS : TESTS)
    .flatMap((folder) => sourcesBelow(ROOT, folder))
    .filter((file) => isTest(file) && !(isUnit && isReal(file)));
  const related = ({ path }) => {
    const room = ROOMS.find((each) => path.startsWith(`${each}/`)) ?? "";
    return files
      .filter((file) => imports.reachedBy(file).has(path))
      .filter((file) => !isSlow(file) || room === REAL || file.startsWith(CONTRACTS) || roomPath(file).startsWith(`${room}/`))
      .filter((file) => known[file] === undefined || known[file] !== imports.digestOf(file))
      .toSorted(compareNearness(path, imports));
  };
  const wanted = [...new Set(sample.flatMap(related))];
  const learnt = await learnTests(ROOT, wanted, { rooms: ROOMS, digestOf: (file) => imports.digestOf(file) });
  const testsOf = (mutant) => {
    const counter = createCounterOf(mutant.path, texts.get(mutant.path))(mutant);
    const near = related(mutant).filter((file) => learnt.has(file));
    return chooseTests(learnt, near, { source: mutant.path, counter, isSlow });
  };
  return { testsOf, learnt: Object.fromEntries(wanted.map((file) => [file, imports.digestOf(file)])) };
}

/** As many as the time allows, in `LANES` at a time. */
async function judgeAll(sample, { texts, testsOf, until }) {
  const outcomes = [];
  const waiting = [...sample];
  const usable = new Set();
  const judgeNext = async (judge) => {
    while (waiting.length > 0 && performance.now() < until) {
      const mutant = waiting.shift();
      const text = texts.get(mutant.path);
      const from = performance.now();
      const { outcome, by } = await judge.judge({ path: mutant.path, text: applyMutant(text, mutant) }, testsOf(mutant));
      const what = describeMutant(text, mutant);
      const seconds = Number(((performance.now() - from) / 1000).toFixed(1));
      outcomes.push({ path: mutant.path, outcome, what, seconds, by: by.map(({ file, name }) => `${file} > ${name}`).slice(0, 1) });
      say(`${outcomes.length} ${outcome} in ${seconds} s: ${what}`);
    }
  };
  const judges = Array.from({ length: LANES }, () => openJudge(usable));
  try {
    await Promise.all(judges.map(judgeNext));
    return outcomes;
  } finally {
    await Promise.all(judges.map((judge) => judge.close()));
  }
}

const isNoticed = ({ outcome }) => outcome === "killed" || outcome === "endless";

/** What is to be judged; of an earlier run its outcomes, and the test files that it had, by digest. */
function planOf(values, { mutants, texts }) {
  const [size, seed] = [values.sample, values.seed].map(Number);
  if (!values.again) return { seed, sample: sampleOf(mutants, size, seed), earlier: [], known: {} };
  const earlier = JSON.parse(readFileSync(values.again, "utf8"));
  const survivors = new Set(earlier.outcomes.flatMap((each) => (isNoticed(each) ? [] : [each.what])));
  const sample = mutants.filter((mutant) => survivors.has(describeMutant(texts.get(mutant.path), mutant)));
  return { seed: earlier.seed, sample, earlier: earlier.outcomes, known: earlier.learnt };
}

/** A survivor that a later run did not notice, or did not find because its source has changed, stays one. Equal changes count together. */
function mergeOutcomes(earlier, judged) {
  if (earlier.length === 0) return judged;
  const survivors = new Set(judged.flatMap((each) => (isNoticed(each) ? [] : [each.what])));
  const noticed = new Map(judged.flatMap((each) => (survivors.has(each.what) ? [] : [[each.what, each]])));
  return earlier.map((each) => (isNoticed(each) ? each : (noticed.get(each.what) ?? each)));
}

await main(async () => {
  const { values } = parseArgs({ options: OPTIONS });
  const minutes = Number(values.minutes);
  const all = allMutants(values.only);
  const plan = planOf(values, all);
  const { seed, sample } = plan;
  say(`${sample.length} of ${all.mutants.length} mutants, seed ${seed}, at most ${minutes} minutes`);
  const { testsOf, learnt } = await createTestChoice({ ...plan, isUnit: values.unit }, all.texts);
  const from = performance.now();
  const judged = await judgeAll(sample, { texts: all.texts, testsOf, until: from + minutes * 60_000 });
  const outcomes = mergeOutcomes(plan.earlier, judged);
  const known = { ...plan.known, ...learnt };
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ seed, of: all.mutants.length, outcomes, learnt: known }, null, 2)}\n`);
  const survivors = outcomes.filter((each) => !isNoticed(each));
  process.stdout.write(`\nSurvivors:\n${survivors.map(({ outcome, what }) => `${outcome}: ${what}\n`).join("")}\n`);
  summarise(values.only, outcomes);
  say(`${((performance.now() - from) / 1000 / judged.length).toFixed(1)} seconds a mutant, ${LANES} at a time`);
  if (judged.length < sample.length) throw new Problem(`The time ended after ${judged.length} of ${sample.length} mutants`);
  if (scoreOf(outcomes).percent < LEAST) throw new Problem(`Less than ${LEAST} % of the mutants were noticed`);
});
