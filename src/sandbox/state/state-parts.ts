import type { Journal } from "../journal.ts";
import type { LiveSandboxes } from "../live-sandboxes.ts";
import type { Runtimes } from "../runtimes.ts";
import type { CheckpointFiles } from "./checkpoint-files.ts";
import type { WorkLock } from "./work-lock.ts";

/** For who holds in memory what a state of a sandbox that is not paused should hold. It stays written until the result is disposed. Rejects only with the signal. */
export type BeforeFreeze = (
  run: { readonly id: string; readonly generation: number },
  signal: AbortSignal,
) => Promise<Disposable | undefined>;

/** What all works on the states of a home need. */
export interface StateParts {
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  readonly runtimes: Runtimes;
  readonly lock: WorkLock;
  readonly checkpoints: CheckpointFiles;
  readonly beforeFreeze?: BeforeFreeze | undefined;
  readonly report: (problem: string) => void;
}
