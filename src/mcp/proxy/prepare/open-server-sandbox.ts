import { BelljarError } from "../../../errors.ts";
import type { CreateOptions, Principal, Sandbox, Sandboxes } from "../../../sandbox/sandbox.ts";
import type { StdioTarget } from "../../client/config/resolve-server.ts";
import type { HubServer } from "../hub-server.ts";
import { findImage, type ImageTemplates } from "./image-templates.ts";
import { type PackageLaunch, readPackageLaunch } from "./package-launch.ts";
import type { InstalledProgram, PackagePrograms } from "./package-programs.ts";
import { assertSecretsFree, placeholdersOf } from "./server-secrets.ts";
import { type ServerCommand, startCommand } from "./start-command.ts";

/** It ends with this process, or when nobody uses it. */
const LIFETIME_MS = 24 * 3_600_000;

/** Node reads certificates for 30 ms at its start, which a server that reaches nothing never needs. */
const NO_CERTIFICATES = { NODE_EXTRA_CA_CERTS: "" };

/** Whose it is, and how long somebody waits. */
interface Who {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

export interface SandboxParts {
  readonly sandboxes: Pick<Sandboxes, "create">;
  readonly programs?: Pick<PackagePrograms, "prepare"> | undefined;
  readonly images?: ImageTemplates | undefined;
}

/** Undefined for a command that runs as it is. Throws `CONFIG_INVALID` for one that is not understood. */
export function launchOf({ target, settings }: HubServer): PackageLaunch | undefined {
  if (target.kind !== "stdio" || settings.isolation === "none" || settings.template !== undefined || settings.image) return undefined;
  return readPackageLaunch(target);
}

/** Throws `CONFIG_INVALID` for a command that is not understood, and for a variable with two values. */
export function assertStartable(server: HubServer): void {
  assertSecretsFree(server);
  launchOf(server);
}

/** A sandbox for one server, and what runs in it. Rejects with an error that names the server. */
export async function openServerSandbox(
  parts: SandboxParts,
  server: HubServer & { readonly target: StdioTarget },
  { principal, signal }: Who,
): Promise<{ readonly sandbox: Sandbox; readonly command: ServerCommand }> {
  const { name, target, settings } = server;
  const launch = parts.programs && launchOf(server);
  const begin = await beginOf(parts, server, { principal, signal }).catch((cause: unknown) => failed(name, "did not start", cause));
  const creating = parts.sandboxes.create(principal, { ...sandboxOptions(settings), ...begin.options }, signal);
  const sandbox = await creating.catch((cause: unknown) => failed(name, "did not start", cause));
  const { argv = [target.command, ...target.args], installed } = begin;
  const plain = { argv, env: target.ownEnv };
  const command = launch && installed ? await startCommand(sandbox, installed, launch, target.ownEnv) : plain;
  const env = settings.network === "none" ? { ...NO_CERTIFICATES, ...command.env } : command.env;
  return { sandbox, command: { ...command, env, cwd: target.cwd } };
}

interface Begin {
  readonly options?: Pick<CreateOptions, "hiddenSnapshot" | "template">;
  readonly installed?: InstalledProgram;
  readonly argv?: readonly string[];
}

/** What the sandbox begins with: the layer of a package, the template of an image, or what the entry says. */
async function beginOf({ programs, images }: SandboxParts, server: HubServer, { principal, signal }: Who): Promise<Begin> {
  const { image } = server.settings;
  if (image) {
    const { template, argv } = await findImage(images, principal, image);
    return { options: { template }, argv };
  }
  const launch = programs && launchOf(server);
  if (!launch) return {};
  const installed = await programs.prepare(principal, launch, signal);
  return { options: { hiddenSnapshot: installed.snapshot }, installed };
}

function sandboxOptions(settings: HubServer["settings"]): CreateOptions {
  const { network, limits, template, mount } = settings;
  return {
    network,
    ...(limits && { limits }),
    ...(template !== undefined && { template }),
    ...placeholdersOf(settings),
    ...(mount && { workspace: { path: mount.host, mode: mount.mode } }),
    bestEffort: limits === undefined,
    isHidden: true,
    ephemeral: true,
    timeoutMs: LIFETIME_MS,
  };
}

/** Rejects with the same error, in which the server is named. */
export function failed(name: string, what: string, cause: unknown): never {
  if (!(cause instanceof BelljarError)) throw cause;
  throw new BelljarError(cause.code, `The server "${name}" ${what}: ${cause.message}`, { cause });
}
