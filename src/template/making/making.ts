import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import type { Runtimes } from "../../sandbox/runtimes.ts";
import type { Principal, Quotas } from "../../sandbox/sandbox.ts";
import type { KnownClaim } from "../../sandbox/state/claimed-files.ts";
import type { RegistryParts } from "../open-registry.ts";
import type { StoredTemplates } from "../stored-templates.ts";
import type { TemplateRecord } from "../template-record.ts";
import type { BuildLog } from "../templates.ts";
import type { TemplateOptions } from "../wire/template-schema.ts";

/** What templates are made with. */
export interface MakingParts {
  readonly home: string;
  readonly stored: StoredTemplates;
  readonly runtimes: Runtimes;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "holdForTemplate" | "freezeForTemplate" | "networkOf">;
  /** Of the files of one template. */
  readonly maxBytes: number;
  /** Absent: images come from the host alone. */
  readonly registry?: RegistryParts;
  /** Default: sandboxes may have root. */
  readonly root?: boolean | undefined;
  /** For a principal whose token names none. Default: nothing is counted. */
  readonly quotas?: Quotas;
}

/** One template to be made. */
export interface Wish {
  readonly principal: Principal;
  /** Of the template. */
  readonly id: string;
  readonly options: TemplateOptions;
  /** Of the owner, those that were there or in the making before. */
  readonly earlier: readonly KnownClaim[];
  readonly log: BuildLog;
  readonly signal: AbortSignal;
}

/** Before it has its claim. */
export type Begun = Omit<Wish, "earlier">;

/** What was made. The template is the user of its layers and parts. */
export type Making = Pick<
  TemplateRecord,
  | "source"
  | "runtime"
  | "base"
  | "layers"
  | "parts"
  | "bytes"
  | "env"
  | "user"
  | "start"
  | "home"
  | "cwd"
  | "tried"
  | "command"
  | "entrypoint"
  | "tookIn"
>;
