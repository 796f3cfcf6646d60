import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { BuildInfo, BuildLogPage } from "./wire/build-schema.ts";
import type { PrunedSteps, TemplateDetail, TemplateOptions } from "./wire/template-schema.ts";

/** Told what a build does, as it does it: its steps, and the output of their commands. `line` is that of the step which begins with the text. */
export type BuildLog = (text: string, line?: number) => void;

/**
 * The templates of a home, seen by one principal at a time: its own, and those that others share with everybody. One that it may not see
 * answers exactly as an unknown one. Two implementations: on `$BELLJAR_HOME`, and over HTTP against a server.
 */
export interface Templates {
  /** By name; of its own and a shared one with the same name, its own. Of shared ones the local user's, then the one shared first. */
  list(principal: Principal): Promise<readonly TemplateDetail[]>;
  /** Rejects with `TEMPLATE_NOT_FOUND`. */
  info(principal: Principal, name: string): Promise<TemplateDetail>;
  /**
   * Makes a template, on disk before the answer. One of the same name and owner is replaced; sandboxes that were made from that keep what
   * they have of it. Rejects with `TEMPLATE_BUSY` while another process makes one of this name, `IMAGE_INVALID` for an image that is
   * damaged, lies or cannot be started, `DOCKERFILE_INVALID`, `COMMAND_FAILED` for a command of a Dockerfile, `SNAPSHOT_NOT_FOUND`,
   * `FORBIDDEN`, `QUOTA_EXCEEDED`, `DISK_FULL` and `NOT_SUPPORTED`. `log` is told what a build does, as it does it.
   */
  // eslint-disable-next-line max-params -- most callers have no log
  make(principal: Principal, options: TemplateOptions, signal: AbortSignal, log?: BuildLog): Promise<TemplateDetail>;
  /** Those that nobody waits for. */
  readonly builds: Builds;
  /** Removes the steps of its builds that were kept for later ones, but for those that lie in templates of its own. */
  prune(principal: Principal): Promise<PrunedSteps>;
  /** Of its own. Sandboxes that were made from it keep what they have of it. Rejects with `TEMPLATE_NOT_FOUND`. */
  remove(principal: Principal, name: string): Promise<void>;
  /**
   * Whether everybody may start sandboxes from it. Rejects with `TEMPLATE_NOT_FOUND`, with `FORBIDDEN` for a token without the scope, and
   * with `TEMPLATE_NAME_TAKEN` while somebody else shares one of that name: of several, the local user's alone may be added.
   */
  share(principal: Principal, name: string, isShared: boolean): Promise<TemplateDetail>;
}

export interface BuildName {
  /** Of the template. */
  readonly name: string;
  readonly id: string;
}

export interface LogWish {
  /** In bytes. */
  readonly offset: number;
  /** How long to wait for more, if there is none yet. */
  readonly waitMs: number;
}

/**
 * Makes templates that nobody waits for. An owner's builds are known for a week, of those that have ended the last ones. One that the
 * principal may not see answers as an unknown one: `TEMPLATE_NOT_FOUND`.
 */
export interface Builds {
  /** Rejects with `ARGUMENTS_INVALID`, and with `QUOTA_EXCEEDED` if too many go on. What else `make` rejects with is told by `info`. */
  begin(principal: Principal, options: TemplateOptions): Promise<BuildInfo>;
  info(principal: Principal, build: BuildName): Promise<BuildInfo>;
  /** What the build has said from there on. */
  // eslint-disable-next-line max-params -- what waits takes a signal
  log(principal: Principal, build: BuildName, wish: LogWish, signal: AbortSignal): Promise<BuildLogPage>;
  /** Once it is stopped; of one that has ended, at once. Rejects with `TEMPLATE_BUSY` if another server builds it. */
  stop(principal: Principal, build: BuildName): Promise<void>;
}

/** Stands for templates where no home is that could have some. */
export async function noTemplates(): Promise<never> {
  throw new BelljarError("NOT_SUPPORTED", "This server keeps no templates");
}
