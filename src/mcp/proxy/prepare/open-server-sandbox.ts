import { BelljarError } from "../../../errors.ts";
import type { CreateOptions, Principal, Sandbox, Sandboxes } from "../../../sandbox/sandbox.ts";
import type { StdioTarget } from "../../client/config/resolve-server.ts";
import type { HubServer } from "../hub-server.ts";
import { type PackageLaunch, readPackageLaunch } from "./package-launch.ts";
import type { InstalledProgram, PackagePrograms, UpdatedProgram } from "./package-programs.ts";
import { assertSecretsFree, placeholdersOf } from "./server-secrets.ts";
import { type ServerCommand, startCommand } from "./start-command.ts";

/** It ends with this process, or when nobody uses it. */
const LIFETIME_MS = 24 * 3_600_000;

export interface SandboxParts {
  readonly sandboxes: Pick<Sandboxes, "create">;
  readonly programs?: PackagePrograms | undefined;
}

/** Undefined for a command that runs as it is. Throws `CONFIG_INVALID` for one that is not understood. */
export function launchOf({ target, settings }: HubServer): PackageLaunch | undefined {
  if (target.kind !== "stdio" || settings.isolation === "none" || settings.template !== undefined) return undefined;
  return readPackageLaunch(target);
}

/** Throws `CONFIG_INVALID` for a command that is not understood, and for a variable with two values. */
export function assertStartable(server: HubServer): void {
  assertSecretsFree(server);
  launchOf(server);
}

/** A sandbox for one server, and what runs in it. Rejects with an error that names the server. */
export async function openServerSandbox(
  { sandboxes, programs }: SandboxParts,
  server: HubServer & { readonly target: StdioTarget },
  { principal, signal }: { readonly principal: Principal; readonly signal: AbortSignal },
): Promise<{ readonly sandbox: Sandbox; readonly command: ServerCommand }> {
  const { name, target, settings } = server;
  const launch = programs && launchOf(server);
  const installed =
    launch && (await programs.prepare(principal, launch, signal).catch((cause: unknown) => failed(name, "did not start", cause)));
  const creating = sandboxes.create(principal, sandboxOptions(settings, installed), signal);
  const sandbox = await creating.catch((cause: unknown) => failed(name, "did not start", cause));
  if (!launch || !installed) return { sandbox, command: { argv: [target.command, ...target.args], env: target.ownEnv, cwd: target.cwd } };
  return { sandbox, command: { ...(await startCommand(sandbox, installed, launch, target.ownEnv)), cwd: target.cwd } };
}

/** Installs the newest version of the package of a server. Rejects with `NOT_SUPPORTED` for one that is no package. */
export async function updateServer(
  { programs }: Pick<SandboxParts, "programs">,
  server: HubServer,
  { principal, signal }: { readonly principal: Principal; readonly signal: AbortSignal },
): Promise<UpdatedProgram> {
  const launch = programs && launchOf(server);
  if (launch) return programs.update(principal, launch, signal).catch((cause: unknown) => failed(server.name, "was not updated", cause));
  const advice = "only what npx, uvx and their like start in a sandbox is installed by Belljar; restart it to start it anew";
  throw new BelljarError("NOT_SUPPORTED", `The server "${server.name}" is no package: ${advice}`);
}

function sandboxOptions(settings: HubServer["settings"], installed: InstalledProgram | undefined): CreateOptions {
  const { network, limits, template, mount } = settings;
  return {
    network,
    ...(limits && { limits }),
    ...(template !== undefined && { template }),
    ...(installed && { hiddenSnapshot: installed.snapshot }),
    ...placeholdersOf(settings),
    ...(mount && { workspace: { path: mount.host, mode: mount.mode } }),
    bestEffort: limits === undefined,
    isHidden: true,
    ephemeral: true,
    timeoutMs: LIFETIME_MS,
  };
}

function failed(name: string, what: string, cause: unknown): never {
  if (!(cause instanceof BelljarError)) throw cause;
  throw new BelljarError(cause.code, `The server "${name}" ${what}: ${cause.message}`, { cause });
}
