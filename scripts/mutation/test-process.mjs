/**
 * A process that keeps vitest warm and runs tests, each time in fresh workers. As `learn` it runs files one by one and tells what each test
 * takes and reaches. Otherwise it runs chosen tests on a mutant, or on none, up to the first failure, in one worker whose files share modules.
 */
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { createVitest } from "vitest/node";
import { withCounters } from "./coverage.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const [, , task, ...rooms] = process.argv;
const learns = task === "learn";
const mutant = { path: "", text: "" };
/** In place of the file on disk, which stays as it is. */
const mutating = { name: "mutant", enforce: "pre", load: (id) => (id === mutant.path ? mutant.text : undefined) };
const counting = {
  name: "counters",
  enforce: "pre",
  load(id) {
    const path = relative(ROOT, id);
    const counts = path.endsWith(".ts") && !path.endsWith(".test.ts") && rooms.some((room) => path.startsWith(`${room}/`));
    return counts ? withCounters(path, readFileSync(id, "utf8")) : undefined;
  },
};

/** Of the present run alone: vitest itself remembers the runs before. */
let cases = [];
let modules = [];
const reporter = {
  onTestCaseResult: (test) => cases.push(test),
  onTestModuleEnd: (module) => modules.push(module),
};

class InGivenOrder {
  sort(specifications) {
    return specifications;
  }
  shard(specifications) {
    return specifications;
  }
}

const vitest = await createVitest(
  "test",
  {
    root: ROOT,
    config: false,
    watch: false,
    include: ["src/**/*.test.ts", "test/{contract,integration,security,pins}/**/*.test.ts"],
    reporters: [reporter],
    silent: true,
    ...(learns
      ? { isolate: true, maxWorkers: 2, setupFiles: [join(import.meta.dirname, "coverage-setup.mjs")] }
      : { isolate: false, maxWorkers: 1, sequence: { sequencer: InGivenOrder } }),
  },
  { plugins: [learns ? counting : mutating], logLevel: "silent" },
);
await vitest.globTestSpecifications();

function configure(settings) {
  for (const { config } of [vitest, ...vitest.projects]) Object.assign(config, settings);
}

/** `tests` are files with the ids of the tests in them; without ids the whole file. */
async function run({ tests, timeoutMs }) {
  [cases, modules] = [[], []];
  configure({ testTimeout: timeoutMs, hookTimeout: timeoutMs, bail: learns ? 0 : 1 });
  const project = vitest.getRootProject();
  const { unhandledErrors } = await vitest.runTestSpecifications(
    tests.map(({ file, ids }) => project.createSpecification(join(ROOT, file), ids ? { testIds: ids } : undefined)),
  );
  return unhandledErrors.length;
}

async function judge({ path, text, ...work }) {
  const before = mutant.path;
  Object.assign(mutant, path === undefined ? { path: "", text: "" } : { path: join(ROOT, path), text });
  for (const file of [before, mutant.path]) if (file !== "") vitest.invalidateFile(file);
  const uncaught = await run(work);
  const failed = cases.filter((test) => test.result().state === "failed").map(({ id }) => id);
  const broken = modules.filter((module) => module.errors().length > 0).map(({ relativeModuleId }) => relativeModuleId);
  return { failed, broken, uncaught: uncaught + broken.length };
}

async function learn(work) {
  await run(work);
  return modules.map(describeFile);
}

function describeFile(module) {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
  const tests = cases.filter((test) => test.module === module && test.result().state !== "skipped");
  return {
    file: module.relativeModuleId,
    passed: module.errors().length === 0 && tests.every(hasPassed),
    ms: environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration,
    shared: module.meta().shared ?? {},
    tests: tests.filter(hasPassed).map((test) => ({
      id: test.id,
      name: test.fullName,
      ms: test.diagnostic()?.duration ?? 0,
      hits: test.meta().hits ?? {},
    })),
  };
}

const hasPassed = (test) => test.result().state === "passed";

const answer = async (work) => process.send(await (learns ? learn(work) : judge(work)));

process.on("message", (work) => void answer(work));
process.send("ready");
