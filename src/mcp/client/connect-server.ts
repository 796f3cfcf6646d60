import type { Client, Transport, VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { SdkHttpError } from "@modelcontextprotocol/client";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { HttpTarget, ServerTarget, StdioTarget } from "./config/resolve-server.ts";
import type { ServerLogin } from "./oauth/server-login.ts";
import type { ServerHandlers } from "./server-handlers.ts";
import { createClient } from "./server-handlers.ts";
import { toServerError } from "./to-server-error.ts";
import { deliverInOrder } from "./transport/deliver-in-order.ts";
import { createHttpLink } from "./transport/http-link.ts";
import type { HttpWay } from "./transport/http-way.ts";
import { ProcessTransport } from "./transport/process-transport.ts";
import { ProgramTransport } from "./transport/program-transport.ts";

export interface ConnectOptions {
  readonly version: string;
  readonly startTimeoutMs: number;
  readonly handlers?: ServerHandlers;
  readonly signal?: AbortSignal;
  /** Where a program runs. Default: on this machine. */
  readonly openProgram?: (target: StdioTarget) => ProgramTransport;
  /** Whose token the requests have. Default: nobody's. */
  readonly login?: ServerLogin | undefined;
  /** How requests leave this machine. Default: each one may. */
  readonly way?: HttpWay | undefined;
}

export interface Connected {
  readonly client: Client;
  readonly transport: Transport;
  /** Aborts when the connection is closed, by whichever side. */
  readonly closed: AbortSignal;
  /** Why this side closed the connection, if it did for what the server does. */
  readonly failure: () => BelljarError | undefined;
}

/** What a connection is made over. */
interface Link {
  readonly name: string;
  readonly transport: Transport;
  readonly failure: () => BelljarError | undefined;
}

/** A server of an older era may never answer what it does not know. */
const PROBE_TIMEOUT_MS = 5000;

/** Starts a program or reaches a URL, in the era that the server speaks. Rejects with an error that has the program's last lines. */
export async function connectServer(target: ServerTarget, options: ConnectOptions): Promise<Connected> {
  return target.kind === "stdio" ? connectProgram(target, options) : connectHttp(target, options);
}

/** A program may end because it is asked what it does not know. It is then started again, and asked as older clients ask. */
async function connectProgram(target: StdioTarget, options: ConnectOptions): Promise<Connected> {
  const { openProgram = (given) => new ProcessTransport(given) } = options;
  const open = async (program: ProgramTransport, mode: Mode): Promise<Connected> =>
    connect({ name: target.name, transport: program, failure: () => program.failure() }, mode, options);
  const first = openProgram(target);
  try {
    return await open(first, "auto");
  } catch (cause) {
    if (first.ending() === undefined || first.failure() || options.signal?.aborted) throw first.explain(cause);
    const second = openProgram(target);
    return await open(second, "legacy").catch((again: unknown) => {
      throw second.explain(again);
    });
  }
}

async function connectHttp(target: HttpTarget, options: ConnectOptions): Promise<Connected> {
  const open = (kind: "http" | "sse"): Promise<Connected> =>
    connect({ name: target.name, ...createHttpLink(kind, target, options) }, kind === "http" ? "auto" : "legacy", options);
  if (target.kind !== "any") return open(target.kind);
  try {
    return await open("http");
  } catch (cause) {
    if (!knowsOnlySse(cause)) throw cause;
    return await open("sse");
  }
}

/** As the specification has clients find a server of 2024-11-05. */
function knowsOnlySse(cause: unknown): boolean {
  const reason = cause instanceof BelljarError ? cause.cause : undefined;
  return reason instanceof SdkHttpError && [400, 404, 405].includes(reason.status);
}

type Mode = NonNullable<VersionNegotiationOptions["mode"]>;

async function connect(
  { name, transport, failure }: Link,
  mode: Mode,
  { version, startTimeoutMs, signal, handlers = {} }: ConnectOptions,
): Promise<Connected> {
  const isProgram = transport instanceof ProgramTransport;
  const probe = isProgram ? { timeoutMs: Math.min(PROBE_TIMEOUT_MS, startTimeoutMs / 2) } : {};
  const client = createClient(version, { mode, probe }, handlers);
  // A server may close the connection before whoever asked for it has it.
  const closed = new AbortController();
  client.onclose = () => closed.abort();
  deliverInOrder(transport, handlers.message);
  try {
    const connecting = client.connect(transport, { timeout: startTimeoutMs });
    const connected = await settleWithin(connecting, { timeoutMs: startTimeoutMs, ...(signal && { signal }) });
    if (connected !== "late") return { client, transport, closed: closed.signal, failure };
    connecting.catch(() => undefined);
    if (signal?.aborted) throw new BelljarError("CANCELLED", `The start of "${name}" was cancelled`);
    throw new BelljarError("SERVER_UNREACHABLE", `The server "${name}" did not answer within ${startTimeoutMs} ms`);
  } catch (cause) {
    await transport.close();
    throw failure() ?? toServerError(name, "the start", cause);
  }
}
