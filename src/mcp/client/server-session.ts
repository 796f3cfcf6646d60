import { once } from "node:events";
import { SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { ServerTarget } from "./config/resolve-server.ts";
import type { Connected, ConnectOptions } from "./connect-server.ts";
import { connectServer } from "./connect-server.ts";
import { isRecord } from "./config/is-record.ts";
import type { JsonObject } from "./json-object.ts";
import type { ParamHeader } from "./param-headers.ts";
import { readParamHeaders, toParamHeaders } from "./param-headers.ts";
import { toServerError } from "./to-server-error.ts";
import { ProgramTransport } from "./transport/program-transport.ts";
import { RawHttp } from "./transport/raw-http.ts";

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Is told of messages of the server's log that came with this request's answer, in the place of the handler. */
  readonly logged?: (params: JsonObject) => void;
  /** Set: an answer that asks for more (`input_required`) is given as it came. Else the handlers are asked, and the request is made again. */
  readonly takesQuestions?: true;
  /** Of the tool that is called, by whoever has its schema. Default: as this session has listed it. */
  readonly declared?: readonly ParamHeader[] | undefined;
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
  /** Settles once the server has closed the connection or has lost the session, or this side has closed it. */
  readonly ended: Promise<void>;
  /** True if arguments are sent as headers too, where a schema says so. Tools whose schema says it wrongly must not be called. */
  readonly mirrors: boolean;
  /** True once the server has closed the connection, or has lost the session. */
  hasEnded(): boolean;
  /** Gives the answer as the server sent it. Rejects with an error that names the server. */
  request(method: string, params: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  /** From here on `resourceUpdated` is told of changes of the resource, until the signal aborts or the server ends it. Rejects as a request does. */
  follow(uri: string, signal: AbortSignal): Promise<Following>;
}

export interface Following extends AsyncDisposable {
  /** Settles once nothing is told any more. */
  readonly ended: Promise<unknown>;
}

export const CALL_TIMEOUT_MS = 60_000;
const END_SESSION_MS = 1000;
/** A typed schema would drop fields that it does not know. */
const ANYTHING = z.looseObject({});

/** Starts a program or reaches a URL, in the era that the server speaks. Rejects with an error that has the program's last lines. */
export async function openSession(target: ServerTarget, options: ConnectOptions): Promise<ServerSession> {
  return toSession(target, await connectServer(target, options), options);
}

/** Keeps the headers of each tool in a page of a list. */
function remember(known: Map<unknown, readonly ParamHeader[]>, { tools }: JsonObject): void {
  for (const tool of Array.isArray(tools) ? tools.filter(isRecord) : []) {
    const read = readParamHeaders(tool["inputSchema"]);
    if ("headers" in read && read.headers.length > 0) known.set(tool["name"], read.headers);
    else known.delete(tool["name"]);
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** A server forgets its sessions when it starts anew. As the specification says, it answers with 404. */
function isLostSession(transport: Connected["transport"], cause: unknown): boolean {
  const hasSession = transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined;
  return hasSession && cause instanceof SdkHttpError && cause.status === 404;
}

/** The errors of requests that were refused for that. */
const LOST = new WeakSet<object>();

/** Whether a request failed because the server does not know its session any more: it had no effect. Others of the session may have had theirs. */
export function isOfLostSession(error: unknown): boolean {
  return typeof error === "object" && error !== null && LOST.has(error);
}

/** Undefined where a request is more than a request and its answer. */
function openRaw(
  target: ServerTarget,
  { client, transport }: Connected,
  { version, handlers, login, way }: ConnectOptions,
): RawHttp | undefined {
  const isRaw = client.getProtocolEra() === "modern" && transport instanceof StreamableHTTPClientTransport && !handlers?.message;
  const revision = client.getNegotiatedProtocolVersion();
  if (!isRaw || target.kind === "stdio" || revision === undefined) return undefined;
  const { name, url, headers } = target;
  const token = login && (() => login.token());
  const clientInfo = { name: "belljar", version };
  return new RawHttp({ name, url, headers, version: revision, clientInfo, logged: handlers?.logged, token, way });
}

function toSession(target: ServerTarget, connected: Connected, options: ConnectOptions): ServerSession {
  const { name, callTimeoutMs } = target;
  const { client, transport, closed, failure } = connected;
  const raw = openRaw(target, connected, options);
  const lost = new AbortController();
  const over = AbortSignal.any([closed, lost.signal]);
  const era = client.getProtocolEra() === "modern" ? "modern" : "legacy";
  const mirrors = era === "modern" && transport instanceof StreamableHTTPClientTransport;
  const known = new Map<unknown, readonly ParamHeader[]>();
  return {
    ended: aborted(over),
    mirrors,
    era,
    capabilities: { ...client.getServerCapabilities() },
    instructions: client.getInstructions(),
    hasEnded: () => over.aborted || (transport instanceof ProgramTransport && transport.ending() !== undefined),
    async request(method, params, options = {}) {
      const { signal, timeoutMs = callTimeoutMs ?? CALL_TIMEOUT_MS, onProgress, logged, takesQuestions } = options;
      try {
        const { declared = known.get(params["name"]) ?? [] } = options;
        const headers = toParamHeaders(mirrors && method === "tools/call" ? declared : [], params["arguments"]);
        const sent = {
          timeout: timeoutMs,
          headers,
          ...(signal && { signal }),
          ...(onProgress && { onprogress: onProgress }),
          ...(takesQuestions && { allowInputRequired: true as const }),
        };
        if (raw && takesQuestions && !raw.isElsewhere) {
          const found = await raw.request({ method, params, headers, signal, timeoutMs, onProgress, logged });
          if (found) return found;
        }
        const answer = await client.request({ method, params }, ANYTHING, sent);
        // Of tools that a newer list lacks nothing is kept.
        if (mirrors && method === "tools/list" && params["cursor"] === undefined) known.clear();
        if (mirrors && method === "tools/list") remember(known, answer);
        return answer;
      } catch (cause) {
        if (signal?.aborted) throw new BelljarError("CANCELLED", `${method} was cancelled`, { cause });
        const error = failure() ?? toServerError(name, method, cause);
        if (isLostSession(transport, cause)) {
          LOST.add(error);
          lost.abort();
        }
        throw transport instanceof ProgramTransport && closed.aborted ? transport.explain(error) : error;
      }
    },
    async follow(uri, signal) {
      if (era === "modern") {
        const listening = client.listen({ resourceSubscriptions: [uri] }, { signal: AbortSignal.any([signal, over]) });
        const subscription = await listening.catch((cause: unknown) => {
          throw failure() ?? toServerError(name, "subscriptions/listen", cause);
        });
        return { ended: subscription.closed, [Symbol.asyncDispose]: async () => subscription.close().catch(() => undefined) };
      }
      await this.request("resources/subscribe", { uri }, { signal });
      const stop = async (): Promise<void> => void (await this.request("resources/unsubscribe", { uri }).catch(() => undefined));
      return { ended: aborted(over), [Symbol.asyncDispose]: stop };
    },
    async [Symbol.asyncDispose]() {
      raw?.[Symbol.dispose]();
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
