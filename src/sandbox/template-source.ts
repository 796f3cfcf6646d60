import type { TemplateInfo } from "../runtime/contract/layer-store.ts";
import type { Inside } from "../runtime/contract/run.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import type { Principal } from "./sandbox.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { StartCommand } from "./wire/start-command.ts";

/** A template of a home: frozen layers, on one of the runtime's own templates, with what its sandboxes have without being asked. */
export interface TemplateSource {
  /** Of this build of it, as sandboxes have ids. */
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly runtime: string;
  /** The runtime's template below. */
  readonly base: string;
  /** The topmost first. */
  readonly layers: readonly string[];
  readonly createdAt: Date;
  /** In addition to that of the base. */
  readonly env: Readonly<Record<string, string>>;
  /** As `SandboxSpec.user`. */
  readonly user?: string | undefined;
  readonly start?: StartCommand | undefined;
  /** In the place of those of the configuration, where a maker of a sandbox names none. Somebody else's only lower these. */
  readonly limits?: Limits | undefined;
  /** Default: as on the base. */
  readonly home?: string | undefined;
  readonly cwd?: string | undefined;
  /** Folder of the host whose files it has. Whoever may not have that may not start from it. */
  readonly tookIn?: string | undefined;
}

/** The templates that sandboxes of a home may begin with, beside those of its runtimes. */
export interface HomeTemplates {
  /** `owner`: whose it must be. Undefined if the principal has none of that name, and is shown none. */
  find(principal: Principal, name: string, owner?: string): Promise<TemplateSource | undefined>;
  list(principal: Principal): Promise<readonly TemplateInfo[]>;
  /** Whether layers may have the template, or the step of a build, with this id as their user, `templateUser` of it. */
  isUser(id: string): Promise<boolean>;
  /** Removes what processes left that were killed while they made or removed one. */
  sweep(): Promise<void>;
}

/** The user of a template's layers. */
export function templateUser({ id }: Pick<TemplateSource, "id">): string {
  return `template-${id}`;
}

/** The runtime's own template below what a sandbox or a snapshot begins with. */
export function baseOf({ template, base = template }: Pick<SandboxRecord, "template"> & { readonly base?: string | undefined }): string {
  return base;
}

/** What a sandbox on the template shows inside that has no workspace. */
export function insideOf({ env, home, cwd }: TemplateSource, inside: Inside): Inside {
  const workspace = inside.workspace === inside.home && home !== undefined ? home : inside.workspace;
  return { env: { ...inside.env, ...env }, home: home ?? inside.home, workspace, cwd: cwd ?? workspace };
}
