import type { Transport, VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { Client, SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { HttpTarget, ServerTarget, StdioTarget } from "./config/resolve-server.ts";
import { toServerError } from "./to-server-error.ts";
import { ProcessTransport } from "./transport/process-transport.ts";
import type { ProgramTransport } from "./transport/program-transport.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A connection to one server. Disposing it ends a server's whole process group. */
export interface ServerSession extends AsyncDisposable {
  readonly era: "legacy" | "modern";
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** Settles when a program has ended, or this connection was closed. */
  readonly ended: Promise<void>;
  /** Gives the answer as the server sent it. Rejects with an error that names the server. */
  request(method: string, params: JsonObject, options?: RequestOptions): Promise<JsonObject>;
}

export interface SessionOptions {
  readonly version: string;
  readonly startTimeoutMs: number;
  readonly signal?: AbortSignal;
  /** Where a program runs. Default: on this machine. */
  readonly openProgram?: (target: StdioTarget) => ProgramTransport;
}

const CALL_TIMEOUT_MS = 60_000;
/** A server of an older era may never answer what it does not know. */
const PROBE_TIMEOUT_MS = 5000;
const END_SESSION_MS = 1000;
/** A typed schema would drop fields that it does not know. */
const ANYTHING = z.looseObject({});

type Connected = { readonly client: Client; readonly transport: Transport };

/** Starts a program or reaches a URL, in the era that the server speaks. Rejects with an error that has the program's last lines. */
export async function openSession(target: ServerTarget, options: SessionOptions): Promise<ServerSession> {
  const connected = target.kind === "stdio" ? await connectProgram(target, options) : await connectHttp(target, options);
  return toSession(target, connected);
}

/** A program may end because it is asked what it does not know. It is then started again, and asked as older clients ask. */
async function connectProgram(target: StdioTarget, options: SessionOptions): Promise<Connected> {
  const { openProgram = (given) => new ProcessTransport(given) } = options;
  const first = openProgram(target);
  try {
    return await connect(target.name, first, "auto", options);
  } catch (cause) {
    if (first.ending() === undefined || options.signal?.aborted) throw withLastLines(cause, first);
    const second = openProgram(target);
    return await connect(target.name, second, "legacy", options).catch((again: unknown) => {
      throw withLastLines(again, second);
    });
  }
}

function withLastLines(cause: unknown, transport: ProgramTransport): unknown {
  if (!(cause instanceof BelljarError)) return cause;
  const parts = [transport.ending(), ...transport.lastLines()].filter((part) => part !== undefined);
  return parts.length === 0 ? cause : new BelljarError(cause.code, [cause.message, ...parts].join("\n  "), { cause });
}

async function connectHttp(target: HttpTarget, options: SessionOptions): Promise<Connected> {
  const requestInit = { headers: { ...target.headers } };
  const open = (kind: "http" | "sse"): Promise<Connected> =>
    kind === "http"
      ? connect(target.name, new StreamableHTTPClientTransport(target.url, { requestInit }), "auto", options)
      : connect(target.name, new SSEClientTransport(target.url, { requestInit }), "legacy", options);
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

async function connect(
  name: string,
  transport: Transport,
  mode: NonNullable<VersionNegotiationOptions["mode"]>,
  { version, startTimeoutMs, signal }: SessionOptions,
): Promise<Connected> {
  const isProgram = "lastLines" in transport;
  const probe = isProgram ? { timeoutMs: Math.min(PROBE_TIMEOUT_MS, startTimeoutMs / 2) } : {};
  const client = new Client({ name: "belljar", version }, { versionNegotiation: { mode, probe } });
  try {
    const connecting = client.connect(transport, { timeout: startTimeoutMs });
    if ((await settleWithin(connecting, { timeoutMs: startTimeoutMs, ...(signal && { signal }) })) !== "late") return { client, transport };
    connecting.catch(() => undefined);
    if (signal?.aborted) throw new BelljarError("CANCELLED", `The start of "${name}" was cancelled`);
    throw new BelljarError("SERVER_UNREACHABLE", `The server "${name}" did not answer within ${startTimeoutMs} ms`);
  } catch (cause) {
    await transport.close();
    throw toServerError(name, "the start", cause);
  }
}

function toSession({ name, callTimeoutMs }: ServerTarget, { client, transport }: Connected): ServerSession {
  const ended = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  return {
    ended,
    era: client.getProtocolEra() === "modern" ? "modern" : "legacy",
    capabilities: { ...client.getServerCapabilities() },
    instructions: client.getInstructions(),
    async request(method, params, { signal, timeoutMs = callTimeoutMs ?? CALL_TIMEOUT_MS, onProgress } = {}) {
      try {
        const sent = { timeout: timeoutMs, ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) };
        return await client.request({ method, params }, ANYTHING, sent);
      } catch (cause) {
        if (signal?.aborted) throw new BelljarError("CANCELLED", `${method} was cancelled`, { cause });
        throw toServerError(name, method, cause);
      }
    },
    async [Symbol.asyncDispose]() {
      if (transport instanceof StreamableHTTPClientTransport)
        await settleWithin(
          transport.terminateSession().catch(() => undefined),
          { timeoutMs: END_SESSION_MS },
        );
      await client.close();
      await transport.close();
    },
  };
}
