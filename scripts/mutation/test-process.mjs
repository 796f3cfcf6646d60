/** A process that keeps vitest warm, and runs tests on one mutant after the other, or on none. It says of each test whether it passed. */
import { join, resolve } from "node:path";
import { createVitest } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "../..");
const mutant = { path: "", text: "" };
/** In place of the file on disk, which stays as it is. */
const plugin = { name: "mutant", enforce: "pre", load: (id) => (id === mutant.path ? mutant.text : undefined) };

const vitest = await createVitest(
  "test",
  {
    root: ROOT,
    config: false,
    watch: false,
    include: ["src/**/*.test.ts", "test/contract/*.test.ts", "test/integration/**/*.test.ts"],
    reporters: [{}],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
  { plugins: [plugin], logLevel: "silent" },
);
await vitest.globTestSpecifications();

/** Of a mutant the first failure is enough. */
function stopAtFailures(bail) {
  for (const { config } of [vitest, ...vitest.projects]) config.bail = bail;
}

function describeModule(module) {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
  const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
  const failed = module.state() === "failed" || module.errors().length > 0;
  return { test: module.relativeModuleId, passed: module.state() === "passed" && !failed, failed, ms };
}

async function judge({ path, text, tests }) {
  const before = mutant.path;
  Object.assign(mutant, path === undefined ? { path: "", text: "" } : { path: join(ROOT, path), text });
  for (const file of [before, mutant.path]) if (file !== "") vitest.invalidateFile(file);
  stopAtFailures(path === undefined ? 0 : 1);
  const specifications = tests.flatMap((test) => vitest.getModuleSpecifications(join(ROOT, test)));
  const { testModules } = await vitest.runTestSpecifications(specifications);
  // Vitest gives the modules of earlier runs too.
  const modules = testModules.filter(({ relativeModuleId }) => tests.includes(relativeModuleId)).map(describeModule);
  process.send({ modules, passed: modules.every((module) => !module.failed) });
}

process.on("message", (work) => void judge(work));
process.send("ready");
