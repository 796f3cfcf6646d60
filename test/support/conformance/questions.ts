import type { InputRequired } from "../../../src/mcp/server/client-channel.ts";

type Requests = NonNullable<InputRequired["inputRequests"]>;

export function ask(inputRequests: Requests, requestState?: string): InputRequired {
  return { resultType: "input_required", inputRequests, ...(requestState !== undefined && { requestState }) };
}

export function form(message: string, properties: object, required?: readonly string[]): Requests[string] {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: { type: "object", properties, ...(required && { required }) } },
  };
}

export function sample(prompt: string, maxTokens = 100): Requests[string] {
  return { method: "sampling/createMessage", params: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens } };
}

export const ROOTS: Requests[string] = { method: "roots/list", params: {} };

/** A field of what a person filled in, when it has the right shape. */
export function answered(response: unknown, field: string): string | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: Record<string, unknown> };
  const value = content?.[field];
  return action === "accept" && value !== undefined ? JSON.stringify(value).replace(/^"(.*)"$/, "$1") : undefined;
}

/** What a model of the client said. */
export function sampled(response: unknown): string | undefined {
  const { content } = (response ?? {}) as { content?: { text?: unknown } };
  return typeof content?.text === "string" ? content.text : undefined;
}
