import type { Answer, Face, Json, Shown, ShownTool } from "../scripted-model.ts";
import { join, pictureOfUrl, textOnly, toEvents, toList, toText } from "./face-parts.ts";

/** A tool of the protocol itself, which has no name. */
const SEARCH = "tool_search";

/** OpenAI's Responses. Tools that a search found stand in its output, and not in the list. */
export const openaiResponses: Face = {
  path: /^\/v1\/responses$/,
  isStreamed: (_, body) => body["stream"] === true,
  read(body) {
    const items = toList(body["input"]);
    const found = items.filter(({ type }) => type === "tool_search_output").flatMap(({ tools }) => toList(tools));
    return {
      tools: [...toList(body["tools"]), ...found].flatMap(toTools),
      words: JSON.stringify([
        body["instructions"],
        items.filter(({ type }) => type === "message"),
        [...toList(body["tools"]), ...found].map(({ description }) => description),
      ]),
      results: items.filter(({ type }) => type === "function_call_output").map(({ output }) => toShown(output)),
    };
  },
  stream(answer, turn) {
    const item = toItem(answer, turn);
    const { output, status, ...response } = this.whole(answer, turn);
    return toEvents([
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, status, output } },
    ]);
  },
  whole: (answer, turn) => ({
    id: `resp_${turn}`,
    object: "response",
    status: "completed",
    output: [toItem(answer, turn)],
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  }),
};

/** A server's tools may stand together below its name; a slash divides the two here. */
function toTools({ type, name, description, parameters, tools }: Json): readonly ShownTool[] {
  const own = { name: toText(name ?? type), description: toText(description), schema: parameters };
  if (type !== "namespace") return [own];
  return toList(tools)
    .flatMap(toTools)
    .map((tool) => ({ ...tool, name: `${own.name}/${tool.name}` }));
}

function toItem(answer: Answer, turn: number): Json {
  if ("say" in answer) {
    const content = [{ type: "output_text", text: answer.say, annotations: [] }];
    return { type: "message", id: `msg_${turn}`, role: "assistant", status: "completed", content };
  }
  if (answer.call === SEARCH) {
    return {
      type: "tool_search_call",
      id: `ts_${turn}`,
      call_id: `call_${turn}`,
      execution: "client",
      arguments: answer.args,
      status: "completed",
    };
  }
  const [name, namespace] = answer.call.split("/").toReversed();
  const call = { type: "function_call", id: `fc_${turn}`, call_id: `call_${turn}`, status: "completed" };
  return { ...call, name, ...(namespace !== undefined && { namespace }), arguments: JSON.stringify(answer.args) };
}

function toShown(output: unknown): Shown {
  if (typeof output === "string") return textOnly(output);
  return join(
    toList(output).map((part) => (part["type"] === "input_image" ? pictureOfUrl(part["image_url"]) : textOnly(toText(part["text"])))),
  );
}
