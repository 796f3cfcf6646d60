import type { Answer, Face, Json, Shown } from "../scripted-model.ts";
import { join, pictureOnly, textOnly, toEvents, toList, toRecord, toText } from "./face-parts.ts";

const USAGE = { input_tokens: 1, output_tokens: 1 };

/** Anthropic's Messages. */
export const anthropic: Face = {
  path: /^\/v1\/messages(\?|$)/,
  isStreamed: (_, body) => body["stream"] === true,
  read(body) {
    const messages = toList(body["messages"]);
    const parts = messages.flatMap(({ content }) => toList(content));
    return {
      tools: toList(body["tools"]).map(({ name, description, input_schema: schema }) => ({
        name: toText(name),
        description: toText(description),
        schema,
      })),
      words: JSON.stringify([body["system"], messages.map(({ content }) => toText(content)), parts.filter(({ type }) => type === "text")]),
      results: parts.filter(({ type }) => type === "tool_result").map(({ content }) => toShown(content)),
    };
  },
  stream(answer, turn) {
    const { content, stop_reason: reason, ...message } = this.whole(answer, turn);
    const [block = {}] = toList(content);
    const isCall = "call" in answer;
    const start = isCall ? { ...block, input: {} } : { type: "text", text: "" };
    const delta = isCall
      ? { type: "input_json_delta", partial_json: JSON.stringify(answer.args) }
      : { type: "text_delta", text: answer.say };
    return toEvents([
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: start },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: USAGE },
      { type: "message_stop" },
    ]);
  },
  whole: (answer, turn) => ({
    id: `msg_${turn}`,
    type: "message",
    role: "assistant",
    model: "scripted",
    content: [toBlock(answer, turn)],
    stop_reason: "call" in answer ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: USAGE,
  }),
};

function toBlock(answer: Answer, turn: number): Json {
  if ("say" in answer) return { type: "text", text: answer.say };
  return { type: "tool_use", id: `toolu_${turn}`, name: answer.call, input: answer.args };
}

function toShown(content: unknown): Shown {
  if (typeof content === "string") return textOnly(content);
  return join(
    toList(content).map((part) => {
      const { media_type: type, data } = toRecord(part["source"]);
      return part["type"] === "image" ? pictureOnly(type, data) : textOnly(toText(part["text"]));
    }),
  );
}
