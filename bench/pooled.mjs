import { NEVER, runtimeOptions, until } from "./harness.mjs";

/** Beside other work a browser, of which some wait, starts and ends in tens of seconds. */
const READY_MS = 120_000;

/** The sandboxes of a home that wait, as `serve` has them, and what is done with each once all are ready. */
export async function openPooled(config) {
  const [{ createLocalSandboxes, openRuntimes, LOCAL }, { openPool }] = await Promise.all([
    import("../dist/lib/index.js"),
    import("../dist/lib/cli/compose/open-pool.js"),
  ]);
  const { home } = config;
  const runtimes = await openRuntimes("namespace", runtimeOptions(config, home));
  const { passing: _packages, ...options } = openPool(config, "server").options;
  const pool = { ...options, room: () => "free" };
  const sandboxes = createLocalSandboxes({ home, runtimes, config, pool, report: (problem) => console.error(problem) });
  sandboxes.beginPool();
  return {
    /** Resolves when all wait that are to wait. */
    full: () => until(() => sandboxes.poolCounts().every(({ ready }) => ready === 2), READY_MS),
    take: () => sandboxes.create(LOCAL, {}, NEVER),
    /** Throws if a create found none. */
    async close() {
      const missed = sandboxes.poolCounts().reduce((sum, kind) => sum + kind.missed, 0);
      await sandboxes[Symbol.asyncDispose]();
      if (missed > 0) throw new Error(`${missed} creates found none ready`);
    },
  };
}
