import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import { createGuest } from "../runtime/guest/create-guest.ts";
import type { RunningSandbox } from "../runtime/contract/run.ts";
import type { Life } from "./sandbox-info.ts";

export type LiveHandle = Pick<RunningSandbox, "usage" | "connect" | "ended">;

/** How long a look at a sandbox waits for its guest, whatever that says meanwhile, and for the end of one that is being taken down. */
const LOOK_MS = 3_000;

/** How it is, as its keeper says; of one that is being taken down, its end. Always within seconds. */
export async function usageOf(handle: LiveHandle): Promise<Life> {
  try {
    const usage = await handle.usage();
    return usage.phase === "ending" ? await endOf(handle) : usage;
  } catch (cause) {
    if (isSilent(cause)) return { silent: "its keeper does not answer" };
    throw cause;
  }
}

/** The same, and whether its guest answers. */
export async function lifeOf(handle: LiveHandle): Promise<Life> {
  const life = await usageOf(handle);
  if (!("phase" in life) || life.phase !== "running") return life;
  const enough = AbortSignal.timeout(LOOK_MS);
  try {
    await createGuest((signal) => handle.connect(signal)).ping(enough);
    return life;
  } catch (cause) {
    // Whatever else an answer is, it is one.
    return enough.aborted || isSilent(cause)
      ? { silent: "its guest does not answer", ...(life.deadline && { deadline: life.deadline }) }
      : life;
  }
}

async function endOf({ ended }: LiveHandle): Promise<Life> {
  const end = await settleWithin(ended, { timeoutMs: LOOK_MS });
  return end === "late" ? { silent: "it is being taken down, which takes long" } : end;
}

function isSilent(cause: unknown): boolean {
  return cause instanceof BelljarError && cause.code === "SANDBOX_UNRESPONSIVE";
}
