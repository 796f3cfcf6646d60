import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { unreachable } from "../../catalog/question.ts";
import type { ClientAnswer, ClientQuestion } from "../../catalog/question.ts";
import type { ClientChannel } from "./client-channel.ts";

/** How long a person may take. */
export const ANSWER_MS = 10 * 60_000;

const MODERN = "2026-07-28";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Clients of this revision are asked by the answer of a request, and call again; older ones by a request of the server. */
export function isModern(server: Server): boolean {
  return server.getNegotiatedProtocolVersion() === MODERN;
}

/** The channel of one request. Its `ask` sends the question at once, as clients before 2026-07-28 take it. */
export function openChannel(server: Server, { mcpReq, sessionId }: ServerContext, connectionId?: string): ClientChannel {
  const state: unknown = mcpReq.requestState();
  const id = sessionId ?? connectionId;
  return {
    ...(id !== undefined && { id }),
    inputResponses: mcpReq.inputResponses ?? {},
    requestState: typeof state === "string" ? state : undefined,
    // A message that cannot be sent has no reader any more; the call's own signal tells that to the work.
    log: (level, data) => void mcpReq.log(level, data).catch(() => undefined),
    async ask(question, signal) {
      assertAskable(server.getClientCapabilities());
      const sent = mcpReq.send(toElicitation(question), { signal, timeout: ANSWER_MS });
      const answer: unknown = await sent.catch((error: unknown) => {
        signal.throwIfAborted();
        throw unreachable(error);
      });
      return toAnswer(answer) ?? { action: "cancel" };
    },
  };
}

/** Throws `PERSON_UNREACHABLE` for a client that shows no forms. */
export function assertAskable(capabilities: unknown): void {
  const { elicitation } = (capabilities ?? {}) as { elicitation?: { form?: unknown; url?: unknown } };
  // A client that names no mode means forms: it is older than the modes.
  const showsForms = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
  if (!showsForms) throw unreachable();
}

export function capabilitiesOf({ mcpReq }: ServerContext): unknown {
  return (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[CAPABILITIES];
}

export function toElicitation({ message, schema }: ClientQuestion) {
  const { type, properties = {}, required } = schema as { type: "object"; properties?: object; required?: readonly string[] };
  return {
    method: "elicitation/create" as const,
    params: { mode: "form" as const, message, requestedSchema: { type, properties, ...(required && { required }) } } as never,
  };
}

/** Undefined for what is no answer to an elicitation. */
export function toAnswer(response: unknown): ClientAnswer | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: unknown };
  if (action === "accept") return { action, content: content ?? {} };
  return action === "decline" || action === "cancel" ? { action } : undefined;
}
