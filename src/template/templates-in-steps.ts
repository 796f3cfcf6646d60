import type { Principal } from "../sandbox/sandbox.ts";
import type { BuildArchives } from "./archives/build-archives.ts";
import type { PlannedBuilds } from "./builds/planned-builds.ts";
import type { Templates } from "./templates.ts";
import type { TemplateDetail } from "./wire/template-schema.ts";

/** Templates for clients that say first what they build, then send its files, and then its steps. On `$BELLJAR_HOME` alone. */
export interface TemplatesInSteps extends Templates {
  readonly planned: Pick<PlannedBuilds, "plan" | "begin" | "info" | "list" | "entries">;
  readonly archives: Pick<BuildArchives, "find" | "invite" | "ownerOf" | "store">;
  /** Gives one of its own another name too. A template that has that one is replaced. Rejects as `make` does. */
  // eslint-disable-next-line max-params -- what waits takes a signal
  copy(principal: Principal, name: string, to: string, signal: AbortSignal): Promise<TemplateDetail>;
}

export type OpenTemplates = () => Promise<TemplatesInSteps>;
