import { NEVER, summarise, time } from "../harness.mjs";

/** An ordinary user has no freezer. */
export const needsRoot = true;

const EACH = 9;

/** A sandbox with a program that only waits is paused, resumed, and paused again for the next call. */
export async function measure(home) {
  const sandbox = await home.create();
  const run = (script) => sandbox.guest.run({ argv: ["sh", "-c", script], signal: NEVER });
  await run("setsid -f sleep 600 >/dev/null 2>&1");
  const samples = { pause: [], resume: [], call: [] };
  for (let i = 0; i < EACH; i += 1) {
    samples.pause.push(await time(() => sandbox.pause()));
    samples.resume.push(await time(() => sandbox.resume()));
    await sandbox.pause();
    samples.call.push(await time(() => run("true")));
  }
  await sandbox.kill();
  return [
    { what: "pause of a sandbox", measured: summarise(samples.pause) },
    { what: "resume of a paused sandbox", measured: summarise(samples.resume) },
    { what: "exec /bin/true in a paused sandbox, which wakes it", measured: summarise(samples.call) },
  ];
}
