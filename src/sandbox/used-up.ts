import { BelljarError } from "../errors.ts";
import type { Sandbox } from "./sandbox.ts";

/** What its sandbox had no more of while a command ran. */
export type UsedUp = "memory" | "disk";

/** How a command ended, as its guest tells. */
export interface CommandEnd {
  readonly exitCode: number | undefined;
  readonly timedOut: boolean;
}

type Asked = Pick<Sandbox, "usage" | "guest">;

/** A command's result does not wait longer for the answer about the disk. */
const ASKED_MS = 2_000;

/**
 * To be awaited before a command begins. The function that it gives is called with the command's end, and tells what the sandbox had no more
 * of, as `findUsedUp` does.
 */
export async function watchUsedUp(
  sandbox: Asked & Pick<Sandbox, "knownOomKills">,
): Promise<(end: CommandEnd) => Promise<UsedUp | undefined>> {
  const before = await sandbox.knownOomKills();
  return (end) => findUsedUp(sandbox, end, before);
}

/**
 * `memory`: the kernel killed a process since it had killed `before`, though it was a child of the command, and though the command went on
 * and succeeded. The kernel counts by sandbox, so commands that run at the same time all say so. Undefined `before`: nobody counts.
 * `disk`: the command failed, and nothing more can be written. Undefined for a command that ran out of time, and if the sandbox does not
 * answer: the command's result is told all the same.
 */
export async function findUsedUp(sandbox: Asked, end: CommandEnd, before: number | undefined): Promise<UsedUp | undefined> {
  if (end.timedOut) return undefined;
  if (before !== undefined && (await countKills(sandbox)) > before) return "memory";
  return end.exitCode !== 0 && (await isDiskFull(sandbox)) ? "disk" : undefined;
}

async function countKills(sandbox: Asked): Promise<number> {
  return (await answerOf(sandbox.usage()))?.oomKills ?? 0;
}

async function isDiskFull({ guest }: Asked): Promise<boolean> {
  return (await answerOf(guest.usage(AbortSignal.timeout(ASKED_MS))))?.isDiskFull ?? false;
}

/** Undefined from a sandbox that does not answer: it may have ended with the command. */
async function answerOf<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof BelljarError) return undefined;
    throw error;
  }
}

/** For a person and a model, with what counts. */
export const USED_UP: Readonly<Record<UsedUp, string>> = {
  memory: "a process was killed because the sandbox's memory was used up (processes and /dev/shm count)",
  disk: "the sandbox's disk is full (its files and /tmp count)",
};

export function tellUsedUp(usedUp: UsedUp | undefined): readonly string[] {
  return usedUp === undefined ? [] : [USED_UP[usedUp]];
}
