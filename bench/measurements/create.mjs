import { FLOOR, NEVER, compare, programLimits } from "../harness.mjs";

const SPACED = { blocks: 3, each: 8, gapMs: 200 };

/** A new sandbox, journal, every default limit and the system call filter included, until `/bin/true` has run in it. */
export async function measure(home) {
  const defaults = { ...programLimits(home.config) };
  const rows = [];
  for (const { kind, options } of [
    { kind: "sandbox", options: {} },
    { kind: "one-shot", options: defaults },
  ]) {
    const measured = () => createAndRun(home, options);
    const what = `create + exec /bin/true, ${kind} defaults`;
    rows.push({ what: `${what}, back to back`, goal: 3.5, beside: FLOOR.what, ...(await compare({ reference: FLOOR.run, measured })) });
    rows.push({
      what: `${what}, one every 200 ms`,
      goal: 4.5,
      beside: FLOOR.what,
      ...(await compare({ reference: FLOOR.run, measured, ...SPACED })),
    });
  }
  return rows;
}

async function createAndRun(home, options) {
  const started = performance.now();
  const sandbox = await home.create(options);
  await sandbox.guest.run({ argv: ["/bin/true"], signal: NEVER });
  const took = performance.now() - started;
  await sandbox.kill();
  return took;
}
