import { fork } from "node:child_process";
import { join } from "node:path";
import { cleanEnv } from "../lib.mjs";

/** Of the tests of one mutant, when nothing is changed. A test that would take more is left out. */
const BUDGET_MS = 60_000;
const LEARN_MS = 600_000;
/** The tests that take less are run first: most mutants are noticed by them, and the others need not be started. */
const QUICK_MS = 1_500;
/** A mutant that never ends is noticed too. */
const PATIENCE_MS = 30_000;

/** Tells of each mutant whether tests notice it: `killed`, `endless`, `survived` or `untested`. */
export function openTestRunner() {
  let child = openProcess();
  const durations = new Map();

  const run = async (work, limitMs) => {
    const answer = await (await child).ask(work, limitMs);
    if (answer === undefined) child = openProcess();
    return answer;
  };

  /** Learns of the tests that are new how long they take when nothing is changed; those that fail then are left out. */
  const learn = async (tests) => {
    const fresh = tests.filter((test) => !durations.has(test));
    for (const test of fresh) durations.set(test, Infinity);
    const answer = fresh.length === 0 ? undefined : await run({ tests: fresh }, LEARN_MS);
    for (const { test, passed, ms } of answer?.modules ?? []) if (passed) durations.set(test, ms);
  };

  const withinBudget = async (tests) => {
    await learn(tests);
    const chosen = [];
    let sum = 0;
    for (const test of tests) {
      const ms = durations.get(test);
      if (sum + ms > BUDGET_MS) continue;
      chosen.push(test);
      sum += ms;
    }
    return { chosen, sum };
  };

  /** A test that fails without the mutant too noticed nothing: it is left out from then on. */
  const passesUnchanged = async (tests) => {
    const answer = await run({ tests }, LEARN_MS);
    for (const { test, failed } of answer?.modules ?? []) if (failed) durations.set(test, Infinity);
    return answer?.passed ?? true;
  };

  return {
    async judge(mutant, tests) {
      const { chosen, sum } = await withinBudget(tests);
      if (chosen.length === 0) return { outcome: "untested" };
      const quick = chosen.filter((test) => durations.get(test) < QUICK_MS);
      for (const part of [quick, chosen.filter((test) => !quick.includes(test))]) {
        if (part.length === 0) continue;
        const answer = await run({ ...mutant, tests: part }, 3 * sum + PATIENCE_MS);
        if (answer === undefined) return { outcome: "endless" };
        if (answer.passed) continue;
        const by = answer.modules.flatMap(({ test, failed }) => (failed ? [test] : []));
        return by.length === 0 || (await passesUnchanged(by)) ? { outcome: "killed", by } : this.judge(mutant, tests);
      }
      return { outcome: "survived" };
    },
    close: async () => (await child).kill(),
  };
}

async function openProcess() {
  const child = fork(join(import.meta.dirname, "test-process.mjs"), {
    env: cleanEnv(),
    detached: true,
    stdio: ["ignore", "ignore", 2, "ipc"],
  });
  let settle = () => undefined;
  child.on("message", (message) => settle(message)).once("exit", () => settle(undefined));
  const next = () => new Promise((resolve) => (settle = resolve));
  /** With all that it started: a worker that loops hears of nothing. */
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  await next();
  return {
    kill,
    /** Undefined when the time was over, or the process ended. */
    async ask(work, limitMs) {
      const timer = setTimeout(kill, limitMs);
      const answer = next();
      child.send(work);
      const given = await answer;
      clearTimeout(timer);
      if (given === undefined) kill();
      return given;
    },
  };
}
