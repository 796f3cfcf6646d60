import type { Journal } from "../journal.ts";
import type { LiveSandboxes } from "../live-sandboxes.ts";
import type { Runtimes } from "../runtimes.ts";
import type { CheckpointFiles } from "./checkpoint-files.ts";
import type { WorkLock } from "./work-lock.ts";

/** What all works on the states of a home need. */
export interface StateParts {
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  readonly runtimes: Runtimes;
  readonly lock: WorkLock;
  readonly checkpoints: CheckpointFiles;
  readonly report: (problem: string) => void;
}
