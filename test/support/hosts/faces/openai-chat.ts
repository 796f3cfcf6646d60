import type { Answer, Face, Json, Shown } from "../scripted-model.ts";
import { NOTHING, join, pictureOfUrl, textOnly, toEvents, toList, toRecord, toText } from "./face-parts.ts";

/** OpenAI's Chat Completions. */
export const openaiChat: Face = {
  path: /^\/v1\/chat\/completions$/,
  isStreamed: (_, body) => body["stream"] === true,
  read(body) {
    const messages = toList(body["messages"]);
    return {
      tools: toList(body["tools"]).map((tool) => {
        const { name, description, parameters: schema } = toRecord(tool["function"]);
        return { name: toText(name), description: toText(description), schema };
      }),
      words: JSON.stringify(messages.filter(({ role }) => role === "system" || role === "user")),
      results: toResults(messages),
    };
  },
  stream(answer, turn) {
    const head = { id: `chat_${turn}`, object: "chat.completion.chunk", created: 0, model: "scripted" };
    const chunk = (delta: Json, reason: string | null) => ({ ...head, choices: [{ index: 0, delta, finish_reason: reason }] });
    return `${toEvents([chunk(toMessage(answer, turn), null), chunk({}, reasonOf(answer))])}data: [DONE]\n\n`;
  },
  whole: (answer, turn) => ({
    id: `chat_${turn}`,
    object: "chat.completion",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, message: toMessage(answer, turn), finish_reason: reasonOf(answer) }],
  }),
};

/** A tool's message holds text alone: its pictures follow as a message of the user. */
function toResults(messages: readonly Json[]): readonly Shown[] {
  const results: Shown[] = [];
  for (const { role, content } of messages) {
    const shown = typeof content === "string" ? textOnly(content) : join(toList(content).map(toPart));
    if (role === "tool") results.push(shown);
    else if (role === "user" && shown.pictures.length > 0) results.push(join([results.pop() ?? NOTHING, shown]));
  }
  return results;
}

function toPart(part: Json): Shown {
  return part["type"] === "image_url" ? pictureOfUrl(toRecord(part["image_url"])["url"]) : textOnly(toText(part["text"]));
}

function toMessage(answer: Answer, turn: number): Json {
  if ("say" in answer) return { role: "assistant", content: answer.say };
  const call = { name: answer.call, arguments: JSON.stringify(answer.args) };
  return { role: "assistant", content: null, tool_calls: [{ index: 0, id: `call_${turn}`, type: "function", function: call }] };
}

function reasonOf(answer: Answer): string {
  return "call" in answer ? "tool_calls" : "stop";
}
