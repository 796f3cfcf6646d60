import type { StateStore } from "../../runtime/contract/state-store.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import type { NetworkState } from "../../sandbox/network/network-state.ts";
import type { CreateOptions, Principal } from "../../sandbox/sandbox.ts";
import type { StoredTemplates } from "../stored-templates.ts";
import type { Held } from "../making/while-holding.ts";
import type { BuildLog } from "../templates.ts";
import type { StepCache } from "./step-cache.ts";

/** What all steps of one build need. */
export interface BuildParts {
  readonly principal: Principal;
  /** Of the template that is made: its sandboxes are found by it meanwhile. */
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly states: StateStore;
  readonly stored: StoredTemplates;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "freezeForTemplate">;
  readonly cache: StepCache;
  /** A folder with room for archives without their compression. */
  readonly scratch: string;
  /** Of all files of a stage. */
  readonly maxBytes: number;
  /** As the caller wished it. */
  readonly network: CreateOptions["network"];
  /** As `CreateOptions` has it. */
  readonly isPublicOnly: boolean;
  /** What its commands may reach. */
  readonly reach: Pick<NetworkState, "policy" | "inside">;
  readonly log: BuildLog;
  /** By their ids. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly held: Held;
  /** The user of all layers. */
  readonly user: string;
  readonly signal: AbortSignal;
}
