import { parseJson } from "../../files/parse-json.ts";
import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import { firstText } from "../mcp-client/render-content.ts";
import type { Endpoint } from "./model-events.ts";
import { incompatible, modelEvents, refusedBy } from "./model-events.ts";
import type { ChatMessage, Model, ModelReply, ModelRequest, ReplyOptions } from "./model.ts";
import { numberOr0, ReplyCalls } from "./reply-parts.ts";

/** Every model takes so many. */
const OUTPUT_MAX_TOKENS = 4096;

/** A model behind Anthropic's `v1/messages`. */
export function createAnthropicModel(endpoint: Endpoint, name: string): Model {
  return { name, reply: (request, options) => reply(endpoint, toBody(name, request), options) };
}

async function reply(endpoint: Endpoint, body: object, { signal, onText }: ReplyOptions): Promise<ModelReply> {
  const calls = new ReplyCalls();
  let [text, reason] = ["", ""];
  let [inputTokens, outputTokens] = [0, 0];
  let hasEnded = false;
  for await (const event of modelEvents(endpoint, body, signal)) {
    const index = numberOr0(event["index"]);
    switch (event["type"]) {
      case "error":
        throw refusedBy(endpoint, undefined, event);
      case "message_start": {
        const { usage } = recordOf(event["message"]);
        inputTokens = inputTokensOf(recordOf(usage));
        break;
      }
      case "content_block_start": {
        const { type, id, name } = recordOf(event["content_block"]);
        if (type === "tool_use") calls.add(index, { id: firstText(id), name: firstText(name) });
        break;
      }
      case "content_block_delta": {
        const { type, text: said, partial_json: json } = recordOf(event["delta"]);
        if (type === "text_delta") {
          onText(firstText(said));
          text += firstText(said);
        }
        if (type === "input_json_delta") calls.add(index, { argumentsText: firstText(json) });
        break;
      }
      case "message_delta":
        reason = firstText(recordOf(event["delta"])["stop_reason"]);
        outputTokens = numberOr0(recordOf(event["usage"])["output_tokens"]);
        break;
      case "message_stop":
        hasEnded = true;
        break;
      // Pings, and kinds that are newer than this.
      default:
    }
  }
  if (!hasEnded) throw incompatible(endpoint, "ended its answer before its end");
  return { text, calls: calls.all(), usage: { inputTokens, outputTokens }, ...(CUTS[reason] && { cut: CUTS[reason] }) };
}

const CUTS: Readonly<Record<string, string>> = { max_tokens: "it is too long", refusal: "the model has refused to go on" };

/** Those of a cache count apart. */
function inputTokensOf(usage: JsonObject): number {
  const fields = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
  return fields.reduce((sum, field) => sum + numberOr0(usage[field]), 0);
}

function recordOf(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

function toBody(model: string, { system, messages, tools }: ModelRequest): object {
  return {
    model,
    max_tokens: OUTPUT_MAX_TOKENS,
    ...(system !== undefined && { system }),
    messages: mergeRoles(messages.map(toMessage)),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
    }),
    stream: true,
  };
}

interface AnthropicMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly object[];
}

function toMessage(message: ChatMessage): AnthropicMessage {
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "assistant": {
      const calls = message.calls.map(({ id, name, argumentsText }) => ({ type: "tool_use", id, name, input: inputOf(argumentsText) }));
      return { role: "assistant", content: [...(message.text === "" ? [] : [{ type: "text", text: message.text }]), ...calls] };
    }
    case "tool": {
      const content = message.results.map(({ id, text, isError }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: text,
        ...(isError && { is_error: true }),
      }));
      return { role: "user", content };
    }
  }
}

/** The endpoint takes objects alone. */
function inputOf(argumentsText: string): JsonObject {
  return recordOf(parseJson(argumentsText === "" ? "{}" : argumentsText));
}

/** The endpoint wants the roles in turns. A message without content says nothing. */
function mergeRoles(messages: readonly AnthropicMessage[]): readonly AnthropicMessage[] {
  const merged: AnthropicMessage[] = [];
  for (const message of messages.filter(({ content }) => content.length > 0)) {
    const last = merged.at(-1);
    if (last?.role !== message.role) merged.push(message);
    else merged[merged.length - 1] = { role: last.role, content: [...last.content, ...message.content] };
  }
  return merged;
}
