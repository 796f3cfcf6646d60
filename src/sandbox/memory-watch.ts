import type { Sandbox } from "./sandbox.ts";

/** What a shell answers whose command was ended by SIGKILL. */
const KILLED_BELOW_SHELL = 137;

/** How a command ended, as its guest tells. */
interface CommandEnd {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly outOfMemory: boolean;
}

/** How many processes of the sandbox the kernel has killed for its memory: only the keeper outside can tell. */
export async function countOomKills(sandbox: Pick<Sandbox, "usage">): Promise<number> {
  return (await sandbox.usage()).oomKills;
}

/**
 * Whether a command was killed because the memory was used up. `before`: the count when it began.
 * The kernel counts by sandbox: of commands that are killed at the same time each says so.
 */
export async function ranOutOfMemory(sandbox: Pick<Sandbox, "usage">, end: CommandEnd, before: number): Promise<boolean> {
  const wasKilled = end.signal === "SIGKILL" || end.exitCode === KILLED_BELOW_SHELL;
  if (end.outOfMemory || end.timedOut || !wasKilled) return end.outOfMemory;
  return (await countOomKills(sandbox)) > before;
}
