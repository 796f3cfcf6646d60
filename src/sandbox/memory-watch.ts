import type { Sandbox } from "./sandbox.ts";

/** What a shell answers whose command was ended by SIGKILL. */
const KILLED_BELOW_SHELL = 137;

/** How a command ended, as its guest tells. */
export interface CommandEnd {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
}

/**
 * Whether a command was killed because the memory was used up: only the keeper outside can tell, and it is asked after a SIGKILL alone.
 * `before`: the sandbox's `knownOomKills` when the command began. The kernel counts by sandbox. Of commands that are killed at the same
 * time each says so; so does one that somebody else kills, if the kernel killed a process that nobody asked about before it.
 */
export async function ranOutOfMemory(sandbox: Pick<Sandbox, "usage">, end: CommandEnd, before: number): Promise<boolean> {
  const wasKilled = end.signal === "SIGKILL" || end.exitCode === KILLED_BELOW_SHELL;
  if (end.timedOut || !wasKilled) return false;
  return (await sandbox.usage()).oomKills > before;
}
