import { type CallClient, type ClientAnswer, type ClientQuestion, type ClientRequests, unanswerable } from "../../catalog/question.ts";

/** The key of a question of Belljar's own. */
const KEY = "answer";

/** Throws `PERSON_UNREACHABLE` for a client that has not said that it answers each of these. */
export function assertAskable(capabilities: unknown, requests: ClientRequests): void {
  const has = (capabilities ?? {}) as Abilities;
  for (const { method, params } of Object.values(requests)) if (!ANSWERS[method]?.(has, params)) throw unanswerable(method);
}

interface Abilities {
  readonly elicitation?: { readonly form?: unknown; readonly url?: unknown };
  readonly sampling?: { readonly tools?: unknown };
  readonly roots?: object;
}

const ANSWERS: Readonly<Record<string, (has: Abilities, params: unknown) => boolean>> = {
  "elicitation/create": ({ elicitation }, params) => {
    if ((params as { mode?: unknown } | undefined)?.mode === "url") return elicitation?.url !== undefined;
    // A client that names no mode means forms: it is older than the modes.
    return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
  },
  "sampling/createMessage": ({ sampling }, params) =>
    sampling !== undefined && ((params as { tools?: unknown } | undefined)?.tools === undefined || sampling.tools !== undefined),
  "roots/list": ({ roots }) => roots !== undefined,
};

/** The answers to all of them; undefined if one is missing, or is none. */
export function answersTo(
  requests: ClientRequests,
  responses: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const answers = Object.entries(requests).map(([key, { method }]) => [key, method, responses[key]] as const);
  if (!answers.every(([, method, response]) => isAnswer(method, response))) return undefined;
  return Object.fromEntries(answers.map(([key, , response]) => [key, response]));
}

function isAnswer(method: string, response: unknown): boolean {
  if (method === "elicitation/create") return toAnswer(response) !== undefined;
  const { content, roots } = (response ?? {}) as { content?: unknown; roots?: unknown };
  return method === "roots/list" ? Array.isArray(roots) : content !== undefined;
}

/** Belljar's own question to the person. */
export function askBy(relay: NonNullable<CallClient["relay"]>): CallClient["ask"] {
  return async (question, signal) => {
    const answers = await relay({ [KEY]: toElicitation(question) }, signal);
    return toAnswer(answers[KEY]) ?? { action: "cancel" };
  };
}

function toElicitation({ message, schema }: ClientQuestion) {
  const { type, properties = {}, required } = schema as { type: "object"; properties?: object; required?: readonly string[] };
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: { type, properties, ...(required && { required }) } },
  };
}

/** Undefined for what is no answer to an elicitation. */
function toAnswer(response: unknown): ClientAnswer | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: unknown };
  if (action === "accept") return { action, content: content ?? {} };
  return action === "decline" || action === "cancel" ? { action } : undefined;
}
