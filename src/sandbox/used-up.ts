import { BelljarError } from "../errors.ts";
import { type CommandEnd, ranOutOfMemory } from "./memory-watch.ts";
import type { Sandbox } from "./sandbox.ts";

/** What its sandbox had no more of when a command failed. */
export type UsedUp = "memory" | "disk";

/** A failed command does not wait longer for the answer about its disk. */
const ASKED_MS = 2_000;

/**
 * Why a command may have failed: its sandbox used up its memory or its disk. Undefined for a command that succeeded or ran out of time,
 * and if the sandbox does not answer. `before`: see `ranOutOfMemory`. The disk is looked at once, after the command has ended.
 */
export async function findUsedUp(sandbox: Pick<Sandbox, "usage" | "guest">, end: CommandEnd, before: number): Promise<UsedUp | undefined> {
  if (end.exitCode === 0 || end.timedOut) return undefined;
  if (await ranOutOfMemory(sandbox, end, before)) return "memory";
  return (await isDiskFull(sandbox)) ? "disk" : undefined;
}

async function isDiskFull({ guest }: Pick<Sandbox, "guest">): Promise<boolean> {
  try {
    return (await guest.usage(AbortSignal.timeout(ASKED_MS))).isDiskFull;
  } catch (error) {
    // The command's result is told all the same: the sandbox may have ended with it.
    if (error instanceof BelljarError) return false;
    throw error;
  }
}

/** For a person and a model, with what counts. */
export const USED_UP: Readonly<Record<UsedUp, string>> = {
  memory: "killed because the sandbox's memory was used up (processes and /dev/shm count)",
  disk: "the sandbox's disk is full (its files and /tmp count)",
};

export function tellUsedUp(usedUp: UsedUp | undefined): readonly string[] {
  return usedUp === undefined ? [] : [USED_UP[usedUp]];
}
