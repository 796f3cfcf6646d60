import { BelljarError } from "../../errors.ts";
import type { Principal, Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import { openSession, type ServerSession } from "../client/server-session.ts";
import { ProcessTransport } from "../client/transport/process-transport.ts";
import type { ProgramTransport } from "../client/transport/program-transport.ts";
import { OpenCalls } from "./open-call.ts";
import { type InstanceEvents, instanceHandlers } from "./relay/instance-handlers.ts";
import type { HubServer } from "./hub-server.ts";
import type { Instance } from "./instances.ts";
import { openServerSandbox } from "./prepare/open-server-sandbox.ts";
import type { PackagePrograms } from "./prepare/package-programs.ts";
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
}

export interface InstanceStart {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  readonly events: InstanceEvents;
  /** Is given what the server writes to stderr. */
  readonly said: (chunk: Buffer) => void;
}

/** Starts a server, in a sandbox of the principal's unless its entry says otherwise, or reaches it. Rejects with an error that names it. */
export async function openInstance(
  { version, ...parts }: InstanceParts,
  server: HubServer,
  { principal, events, said, signal }: InstanceStart,
): Promise<ServerInstance> {
  const { name, target, settings } = server;
  const calls = new OpenCalls(name);
  const handlers = instanceHandlers(calls, events);
  const heard = <Transport extends ProgramTransport>(transport: Transport): Transport => Object.assign(transport, { onsaid: said });
  const options = { version, startTimeoutMs: target.startTimeoutMs ?? START_TIMEOUT_MS, signal, handlers };
  if (target.kind !== "stdio" || settings.isolation === "none") {
    const session = await openSession(target, { ...options, openProgram: (program) => heard(new ProcessTransport(program)) });
    return { session, calls, ended: session.ended, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
  }
  const { sandbox, command } = await openServerSandbox(parts, { ...server, target }, { principal, signal });
  try {
    const session = await openSession(target, { ...options, openProgram: () => heard(inSandbox(sandbox, name, command)) });
    return {
      session,
      calls,
      ended: Promise.race([session.ended, ...(sandbox.ended ? [sandbox.ended] : [])]),
      async [Symbol.asyncDispose]() {
        try {
          await session[Symbol.asyncDispose]();
        } finally {
          await sandbox.kill();
        }
      },
    };
  } catch (cause) {
    // It ends with this process at the latest; why it did not start is what its owner must hear.
    await sandbox.kill().catch(() => undefined);
    throw cause;
  }
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
