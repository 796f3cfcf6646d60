import type { BelljarError } from "../../errors.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import type { Runtimes } from "../../sandbox/runtimes.ts";
import type { Principal, Quotas } from "../../sandbox/sandbox.ts";
import type { StartCommand } from "../../sandbox/wire/start-command.ts";
import type { KnownClaim } from "../../sandbox/state/claimed-files.ts";
import type { Dockerfile } from "../build/parse-dockerfile.ts";
import type { RegistryCredential } from "../oci/registry/registry-auth.ts";
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

/** What is built in the place of what the options name: something that no option says. */
export interface BuildWork {
  /** Its lines are the numbers of steps. */
  readonly file: Dockerfile;
  /** Of files that are copied, by the names that a `--from` says. */
  readonly archives: ReadonlyMap<string, string>;
  /** The first step that is done again, whatever earlier builds did. */
  readonly freshFrom?: number | undefined;
  /** Its commands reach no place that is not of the public Internet, whatever its maker may reach. */
  readonly isPublicOnly?: boolean | undefined;
  /** For the registry of the images. Default: as the configuration says. */
  readonly credential?: RegistryCredential | undefined;
  /** Run once when all is built: what it fails with, the build fails with. */
  readonly tryStart?: StartCommand | undefined;
  /** Says to people why it failed at this step. Default: the error's own message. */
  readonly tell?: ((cause: BelljarError, step: number) => string) | undefined;
}

/** One template to be made. */
export interface Wish {
  readonly principal: Principal;
  /** Of the template. */
  readonly id: string;
  readonly options: TemplateOptions;
  /** In the place of a source of the options. `names`: all that the template gets. */
  readonly work?: (BuildWork & { readonly names: readonly string[] }) | undefined;
  /** The same: it becomes a copy of this one. */
  readonly copyOf?: TemplateRecord | undefined;
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
  | "copyOf"
>;
