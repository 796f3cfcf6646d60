import type { Inside, Run } from "./run.ts";
import type { Base } from "./sandbox-spec.ts";
import type { StateStore } from "./state-store.ts";

/** What sandboxes start from, and what they wrote. Layers lie beside a sandbox's runs: a run uses them and never owns them. */
export interface LayerStore {
  /** What a person may name. The first is `DEFAULT_BASE`'s, which every runtime has. */
  templates(): Promise<readonly TemplateInfo[]>;
  /** What a sandbox on this base shows inside that has no workspace. Rejects with `TEMPLATE_NOT_FOUND`, and `NOT_SUPPORTED` for a kind of base that it does not have. */
  describe(base: Base): Promise<Inside>;
  /** Removes all that a sandbox wrote, and lets go of the layers below. Its last run has ended. Removing it again is no error. */
  remove(lastRun: Run): Promise<void>;
  /** Whether the files that a sandbox wrote are there. No run of it lives. Rejects with `RUNTIME_UNAVAILABLE` if nobody can tell. */
  has(lastRun: Run): Promise<boolean>;
  /**
   * How much room these files take. No run of it lives. Undefined: the files are gone. Takes no longer than a minute, and
   * stops counting then. Rejects with `RUNTIME_UNAVAILABLE` and `RUNTIME_FAILED` if nobody can tell.
   */
  measure(lastRun: Run, signal: AbortSignal): Promise<LayersSize | undefined>;
  /**
   * What the sandbox wrote in its last run, and what it lies on, outlives a power cut. Files in memory do not: for these it does nothing.
   * Rejects with `RUNTIME_FAILED` if the disk fails.
   */
  flush(lastRun: Run): Promise<void>;
  /** Absent where `Isolation.states` is `none`. */
  readonly states?: StateStore;
}

/** The layers of a sandbox, without those that it shares with other sandboxes. */
export interface LayersSize {
  readonly bytes: number;
  /** They lie in the memory of the machine. */
  readonly isInMemory: boolean;
}

/** What is told of a template. */
export interface TemplateInfo {
  readonly name: string;
  readonly description: string;
}
