import { NEVER, PYTHON, compare, programLimits } from "../harness.mjs";

/** One line of python in a sandbox of its own. */
export async function measure(home) {
  const rows = [];
  for (const { kind, options } of [
    { kind: "sandbox", options: {} },
    { kind: "one-shot", options: programLimits(home.config) },
  ]) {
    const measured = () => createAndRun(home, options);
    rows.push({
      what: `cold python one-liner in a fresh sandbox, ${kind} defaults`,
      goal: 1.3,
      beside: PYTHON.what,
      ...(await compare({ reference: PYTHON.run, measured, blocks: 5, each: 8 })),
    });
  }
  return rows;
}

async function createAndRun(home, options) {
  const started = performance.now();
  const sandbox = await home.create(options);
  const { stdout } = await sandbox.guest.run({ argv: ["/usr/bin/python3", "-c", "print(6 * 7)"], signal: NEVER });
  const took = performance.now() - started;
  if (stdout.toString() !== "42\n") throw new Error(`python said ${stdout}`);
  await sandbox.kill();
  return took;
}
