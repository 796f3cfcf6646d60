import { BelljarError } from "../../../errors.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { MadeWith } from "../control/made-with.ts";

/** Far more than a start takes. */
const START_MS = 60_000;

/**
 * The sandbox, running. One that was paused or stopped is woken only if its maker said that traffic wakes it; else rejects with
 * `SANDBOX_PAUSED` or `SANDBOX_STOPPED`. One that sleeps because it was idle is always woken.
 */
export async function wakeForTraffic(sandbox: Sandbox, { autoResume }: Pick<MadeWith, "autoResume">): Promise<Sandbox> {
  if (!sandbox.ended && autoResume) return sandbox.start(AbortSignal.timeout(START_MS));
  const { phase, pauseReason } = await sandbox.usage();
  if (phase !== "paused") return sandbox;
  if (!autoResume && pauseReason !== "idle")
    throw new BelljarError("SANDBOX_PAUSED", `Sandbox ${sandbox.id} is paused: connect to it first`);
  await sandbox.resume();
  return sandbox;
}
