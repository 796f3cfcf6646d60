import { BelljarError } from "../../errors.ts";
import type { EgressRequests } from "../../network/egress/egress-requests.ts";
import type { Principal, Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import type { StdioTarget } from "../client/config/resolve-server.ts";
import type { ServerLogin } from "../client/oauth/server-login.ts";
import { openSession, type ServerSession } from "../client/server-session.ts";
import { ProcessTransport } from "../client/transport/process-transport.ts";
import type { ProgramTransport } from "../client/transport/program-transport.ts";
import { OpenCalls } from "./open-call.ts";
import { type InstanceEvents, instanceHandlers } from "./relay/instance-handlers.ts";
import type { HubServer } from "./hub-server.ts";
import type { Instance } from "./instances.ts";
import { openServerSandbox } from "./prepare/open-server-sandbox.ts";
import type { ImageTemplates } from "./prepare/image-templates.ts";
import type { PackagePrograms } from "./prepare/package-programs.ts";
import { revealSecrets, type SecretSource } from "./prepare/server-secrets.ts";
import { explainStart, ServerRefusals, type SessionWatch, watchSession } from "./prepare/watched-session.ts";
import type { ServerCommand } from "./prepare/start-command.ts";
import { SandboxTransport } from "./sandbox-transport.ts";

const START_TIMEOUT_MS = 60_000;

export interface ServerInstance extends Instance {
  readonly session: ServerSession;
  /** The calls that it answers now. */
  readonly calls: OpenCalls;
}

export interface InstanceParts {
  readonly sandboxes: Pick<Sandboxes, "create">;
  readonly version: string;
  /** Installs what npx and uvx would. Absent: such commands run as they are. */
  readonly programs?: PackagePrograms | undefined;
  /** Templates of images. Absent: there are none. */
  readonly images?: ImageTemplates | undefined;
  /** Absent: servers get no secrets. */
  readonly secrets?: SecretSource | undefined;
}

export interface InstanceStart {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  /** Whose token a server over HTTP is sent. */
  readonly login?: ServerLogin | undefined;
  /** How requests to a server over HTTP leave this machine. It belongs to the instance from now on. Absent: each one may. */
  readonly way?: EgressRequests | undefined;
  readonly events: InstanceEvents;
  /** Is given what the server writes to stderr. */
  readonly said: (chunk: Buffer) => void;
  /** Is given rules that would have allowed what its network refused. */
  readonly missed: (rules: readonly string[]) => void;
}

/** Starts a server, in a sandbox of the principal's unless its entry says otherwise, or reaches it. Rejects with an error that names it. */
export async function openInstance(
  { version, ...parts }: InstanceParts,
  server: HubServer,
  { principal, login, way, events, said, missed, signal }: InstanceStart,
): Promise<ServerInstance> {
  const { name, target, settings } = server;
  const calls = new OpenCalls(name);
  const handlers = instanceHandlers(calls, events);
  const secrets = await revealSecrets(parts.secrets, server, principal);
  const stderr = secrets.mask?.open();
  const heard = <Transport extends ProgramTransport>(transport: Transport): Transport =>
    Object.assign(transport, { onsaid: said, ...(stderr && { cleans: (chunk: Buffer) => stderr.push(chunk) }) });
  const options = { version, startTimeoutMs: target.startTimeoutMs ?? START_TIMEOUT_MS, signal, handlers };
  const closing = { [Symbol.dispose]: () => stderr && said(stderr.end()) };
  const watch: SessionWatch = { mask: secrets.mask, said };
  if (target.kind !== "stdio" || settings.isolation === "none") {
    const opening = openSession(target, { ...options, login, way, openProgram: (program) => heard(new ProcessTransport(program)) });
    // The way was open before there was a session to end it with.
    const session = await watched(opening, watch).catch((cause: unknown) => {
      way?.[Symbol.dispose]();
      throw cause;
    });
    return toInstance(session, { calls, closing, ...(way && { way }) });
  }
  const given = { ...server, target: { ...target, ownEnv: { ...target.ownEnv, ...secrets.env } } };
  const { sandbox, command } = await openServerSandbox(parts, given, { principal, signal });
  try {
    const refusals = await ServerRefusals.open(sandbox, { name, noted: missed });
    const opening = openSession(target, { ...options, openProgram: () => heard(inSandbox(sandbox, name, command)) });
    const session = await watched(opening, { ...watch, refusals });
    return toInstance(session, { calls, closing, sandbox, refusals });
  } catch (cause) {
    // It ends with this process at the latest; why it did not start is what its owner must hear.
    await sandbox.kill().catch(() => undefined);
    throw cause;
  }
}

/** Where the program of a server runs. */
export interface ServerPlace extends AsyncDisposable {
  readonly openProgram: () => SandboxTransport;
}

/** The sandbox of a server, for a client of its own. Disposing it ends the server. Rejects with an error that names it. */
export async function openServerPlace(
  parts: InstanceParts,
  server: HubServer & { readonly target: StdioTarget },
  { principal, signal }: Pick<InstanceStart, "principal" | "signal">,
): Promise<ServerPlace> {
  const { env } = await revealSecrets(parts.secrets, server, principal);
  const given = { ...server, target: { ...server.target, ownEnv: { ...server.target.ownEnv, ...env } } };
  const { sandbox, command } = await openServerSandbox(parts, given, { principal, signal });
  return { openProgram: () => inSandbox(sandbox, server.name, command), [Symbol.asyncDispose]: () => sandbox.kill() };
}

interface InstanceRest extends Pick<ServerInstance, "calls"> {
  readonly closing: Disposable;
  readonly refusals?: Disposable;
  readonly way?: Disposable;
  readonly sandbox?: Sandbox;
}

function toInstance(session: ServerSession, { calls, sandbox, ...others }: InstanceRest): ServerInstance {
  return {
    session,
    calls,
    ended: Promise.race([session.ended, ...(sandbox?.ended ? [sandbox.ended] : [])]),
    async [Symbol.asyncDispose]() {
      try {
        await session[Symbol.asyncDispose]();
      } finally {
        for (const one of Object.values(others)) one[Symbol.dispose]();
        await sandbox?.kill();
      }
    },
  };
}

async function watched(opening: Promise<ServerSession>, watch: SessionWatch): Promise<ServerSession> {
  const session = await opening.catch(async (cause: unknown) => {
    throw await explainStart(cause, watch);
  });
  return watchSession(session, watch);
}

function inSandbox(sandbox: Sandbox, name: string, { argv, env, cwd }: ServerCommand): SandboxTransport {
  const start = async (signal: AbortSignal) => {
    try {
      return await sandbox.guest.exec({ argv, env, signal, ...(cwd !== undefined && { cwd }) });
    } catch (cause) {
      if (!(cause instanceof BelljarError) || cause.code !== "COMMAND_NOT_FOUND") throw cause;
      const advice = `its sandbox has no program ${argv[0]}: name one that its template has, or a template that has it`;
      throw new BelljarError("SERVER_UNREACHABLE", `The server "${name}" did not start: ${advice}`, { cause });
    }
  };
  return new SandboxTransport(name, start);
}
