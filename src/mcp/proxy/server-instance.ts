import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import { BelljarError } from "../../errors.ts";
import type { CreateOptions, Principal, Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import type { StdioTarget } from "../client/config/resolve-server.ts";
import type { ServerHandlers } from "../client/server-handlers.ts";
import { openSession, type ServerSession } from "../client/server-session.ts";
import { ProcessTransport } from "../client/transport/process-transport.ts";
import type { ProgramTransport } from "../client/transport/program-transport.ts";
import { askCaller, type OpenCall } from "./open-call.ts";
import type { HubServer } from "./hub-server.ts";
import type { Instance } from "./instances.ts";
import { SandboxTransport } from "./sandbox-transport.ts";

/** It ends with this process, or when nobody uses it. */
const LIFETIME_MS = 24 * 3_600_000;
const START_TIMEOUT_MS = 60_000;

export interface ServerInstance extends Instance {
  readonly session: ServerSession;
  /** The calls that it answers now. */
  readonly calls: Set<OpenCall>;
  /** From now on it asks nobody: a question could belong to a call that was given up. */
  refuseQuestions(): void;
}

export interface InstanceParts {
  readonly sandboxes: Pick<Sandboxes, "create">;
  readonly version: string;
  readonly schemas: () => Promise<JsonSchemas>;
}

export interface InstanceStart {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  /** Called when the server says so. */
  readonly listChanged: NonNullable<ServerHandlers["listChanged"]>;
  /** Is given what the server writes to stderr. */
  readonly said: (chunk: Buffer) => void;
}

/** Starts a server, in a sandbox of the principal's unless its entry says otherwise, or reaches it. Rejects with an error that names it. */
export async function openInstance(
  { sandboxes, version, schemas }: InstanceParts,
  { name, target, settings }: HubServer,
  { principal, listChanged, said, signal }: InstanceStart,
): Promise<ServerInstance> {
  const calls = new Set<OpenCall>();
  let asks = true;
  const refuseQuestions = (): void => void (asks = false);
  const elicit: ServerHandlers["elicit"] = async (params, taken) =>
    askCaller({ server: name, calls: asks ? calls : new Set(), schemas: await schemas() }, params, taken);
  const handlers = { elicit, listChanged };
  const heard = <Transport extends ProgramTransport>(transport: Transport): Transport => Object.assign(transport, { onsaid: said });
  const options = { version, startTimeoutMs: target.startTimeoutMs ?? START_TIMEOUT_MS, signal, handlers };
  if (target.kind !== "stdio" || settings.isolation === "none") {
    const session = await openSession(target, { ...options, openProgram: (program) => heard(new ProcessTransport(program)) });
    return { session, calls, refuseQuestions, ended: session.ended, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
  }
  const sandbox = await sandboxes.create(principal, sandboxOptions(settings), signal);
  try {
    const session = await openSession(target, { ...options, openProgram: (program) => heard(inSandbox(sandbox, program)) });
    return {
      session,
      calls,
      refuseQuestions,
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

/** The sandbox that the entry of a server describes. */
export function sandboxOptions({ network, limits, template, mount }: HubServer["settings"]): CreateOptions {
  return {
    network,
    ...(limits && { limits }),
    ...(template !== undefined && { template }),
    ...(mount && { workspace: { path: mount.host, mode: mount.mode } }),
    bestEffort: limits === undefined,
    isHidden: true,
    ephemeral: true,
    timeoutMs: LIFETIME_MS,
  };
}

/** The program of a server, in a sandbox. */
export function inSandbox(sandbox: Sandbox, { name, command, args, ownEnv, cwd }: StdioTarget): SandboxTransport {
  const start = async (signal: AbortSignal) => {
    try {
      return await sandbox.guest.exec({ argv: [command, ...args], env: ownEnv, signal, ...(cwd !== undefined && { cwd }) });
    } catch (cause) {
      if (!(cause instanceof BelljarError) || cause.code !== "COMMAND_NOT_FOUND") throw cause;
      const advice = `its sandbox has no program ${command}: name one that its template has, or a template that has it`;
      throw new BelljarError("SERVER_UNREACHABLE", `The server "${name}" did not start: ${advice}`, { cause });
    }
  };
  return new SandboxTransport(name, start);
}
