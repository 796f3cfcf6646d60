import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { type ClientRequest, unanswerable } from "../../catalog/question.ts";
import { boundedLog } from "./bounded-notices.ts";
import type { ClientChannel } from "./client-channel.ts";
import { askBy, assertAskable } from "./client-requests.ts";
import { PassingServer } from "./passing-server.ts";

/** How long a person may take. */
export const ANSWER_MS = 10 * 60_000;

const MODERN = "2026-07-28";
/** What of `_meta` the protocol itself reads. */
const OF_THE_PROTOCOL = /^(?:progressToken$|io\.modelcontextprotocol\/)/;
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Clients of this revision are asked by the answer of a request, and call again; older ones by a request of the server. */
export function isModern(server: Server): boolean {
  return server.getNegotiatedProtocolVersion() === MODERN;
}

/** The channel of one request. It asks at once, as clients before 2026-07-28 take it. */
export function openChannel(server: Server, context: ServerContext, connectionId?: string): ClientChannel {
  const { mcpReq, sessionId } = context;
  const state: unknown = mcpReq.requestState();
  const id = sessionId ?? connectionId;
  const capabilities = (isModern(server) ? capabilitiesOf(context) : server.getClientCapabilities()) as ClientChannel["capabilities"];
  const send = (request: ClientRequest, signal: AbortSignal): Promise<unknown> =>
    mcpReq.send(request as never, { signal, timeout: ANSWER_MS }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unanswerable(request.method, error);
    });
  const relay: ClientChannel["relay"] = async (requests, signal) => {
    assertAskable(capabilities, requests);
    const asked = Object.entries(requests).map(async ([key, request]) => [key, await send(request, signal)] as const);
    return Object.fromEntries(await Promise.all(asked));
  };
  return {
    ...(id !== undefined && { id }),
    ...(capabilities && { capabilities }),
    meta: ownMeta(mcpReq._meta),
    ...logLevelOf(server, context),
    ...notifyBy(server),
    inputResponses: mcpReq.inputResponses ?? {},
    requestState: typeof state === "string" ? state : undefined,
    log: boundedLog((level, data, logger) => mcpReq.log(level, data, logger)),
    relay,
    ask: askBy(relay),
  };
}

export function capabilitiesOf({ mcpReq }: ServerContext): unknown {
  return (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[CAPABILITIES];
}

/** Older clients say it for the whole session, to the SDK, which drops what they do not want; of those that say none it drops nothing. */
function logLevelOf(server: Server, { mcpReq }: ServerContext): Pick<ClientChannel, "logLevel" | "namesLogLevel"> {
  const asked: unknown = isModern(server)
    ? (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[LOG_LEVEL]
    : server instanceof PassingServer && server.logLevel;
  if (typeof asked === "string") return { logLevel: asked, namesLogLevel: true };
  return isModern(server) ? {} : { logLevel: "debug" };
}

/** Beside its requests. In the newer era there is nothing of this kind. */
function notifyBy(server: Server): Pick<ClientChannel, "notify"> {
  if (isModern(server)) return {};
  // One that cannot be sent has no reader any more.
  return { notify: (method, params) => void server.notification({ method, params } as never).catch(() => undefined) };
}

function ownMeta(meta: object = {}): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !OF_THE_PROTOCOL.test(key)));
}
