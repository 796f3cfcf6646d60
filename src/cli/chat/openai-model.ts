import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import { firstText } from "../mcp-client/render-content.ts";
import type { Endpoint } from "./model-events.ts";
import { incompatible, modelEvents, refusedBy } from "./model-events.ts";
import type { ChatMessage, Model, ModelRequest, ModelUsage } from "./model.ts";
import { numberOr0, ReplyCalls } from "./reply-parts.ts";

/** A model behind `chat/completions`, which OpenAI's endpoint and most others have. */
export function createOpenAiModel(endpoint: Endpoint, name: string): Model {
  return {
    name,
    async reply(request, { signal, onText }) {
      const calls = new ReplyCalls();
      let text = "";
      let usage: ModelUsage | undefined;
      let reason: string | undefined;
      for await (const event of modelEvents(endpoint, toBody(name, request), signal)) {
        if (event["error"] !== undefined && event["error"] !== null) throw refusedBy(endpoint, undefined, event);
        usage = usageOf(event["usage"]) ?? usage;
        const choice = Array.isArray(event["choices"]) ? (event["choices"] as readonly unknown[])[0] : undefined;
        if (!isRecord(choice)) continue;
        const delta = isRecord(choice["delta"]) ? choice["delta"] : {};
        const said = firstText(delta["content"]);
        if (said !== "") onText(said);
        text += said;
        addCalls(calls, delta["tool_calls"]);
        if (typeof choice["finish_reason"] === "string") reason = choice["finish_reason"];
      }
      if (reason === undefined) throw incompatible(endpoint, "ended its answer before its end");
      return { text, calls: calls.all(), usage, ...(CUTS[reason] && { cut: CUTS[reason] }) };
    },
  };
}

const CUTS: Readonly<Record<string, string>> = { length: "it is too long", content_filter: "the endpoint has filtered it" };

function addCalls(calls: ReplyCalls, deltas: unknown): void {
  for (const [place, delta] of (Array.isArray(deltas) ? deltas : []).entries()) {
    if (!isRecord(delta)) continue;
    const { index, id } = delta;
    const { name, arguments: argumentsText } = isRecord(delta["function"]) ? delta["function"] : ({} as JsonObject);
    calls.add(typeof index === "number" ? index : place, {
      id: firstText(id),
      name: firstText(name),
      argumentsText: firstText(argumentsText),
    });
  }
}

function usageOf(usage: unknown): ModelUsage | undefined {
  if (!isRecord(usage)) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens, cost } = usage;
  return {
    inputTokens: numberOr0(inputTokens),
    outputTokens: numberOr0(outputTokens),
    // OpenRouter's.
    ...(typeof cost === "number" && { dollars: numberOr0(cost) }),
  };
}

function toBody(model: string, { system, messages, tools }: ModelRequest): object {
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), ...messages.flatMap(toMessages)],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        function: { name, description, parameters: inputSchema },
      })),
    }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function toMessages(message: ChatMessage): readonly object[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.text }];
    case "assistant":
      return [
        {
          role: "assistant",
          content: message.text === "" ? null : message.text,
          ...(message.calls.length > 0 && {
            tool_calls: message.calls.map(({ id, name, argumentsText }) => ({
              id,
              type: "function",
              function: { name, arguments: argumentsText },
            })),
          }),
        },
      ];
    case "tool":
      return message.results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
  }
}
