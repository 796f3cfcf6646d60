import type { Answer, Face, Json, Shown } from "../scripted-model.ts";
import { NOTHING, join, pictureOnly, textOnly, toEvents, toList, toRecord, toText } from "./face-parts.ts";

/** Google's generateContent. */
export const gemini: Face = {
  path: /:(streamGenerateContent|generateContent)(\?|$)/,
  isStreamed: (path) => path.includes(":stream"),
  read(body) {
    const parts = toList(body["contents"]).flatMap((content) => toList(content["parts"]));
    return {
      tools: toList(body["tools"])
        .flatMap(({ functionDeclarations }) => toList(functionDeclarations))
        .map(({ name, description, parametersJsonSchema, parameters }) => ({
          name: toText(name),
          description: toText(description),
          schema: parametersJsonSchema ?? parameters,
        })),
      words: JSON.stringify([body["systemInstruction"], parts.filter((part) => "text" in part)]),
      results: toResults(parts),
    };
  },
  stream: (answer, turn) => toEvents([toResponse(answer, turn)]),
  whole: toResponse,
};

/** Pictures are parts of a function's response, or follow it. */
function toResults(parts: readonly Json[]): readonly Shown[] {
  const results: Shown[] = [];
  for (const part of parts) {
    const { response, parts: own } = toRecord(part["functionResponse"]);
    if (response !== undefined) results.push(join([outputOf(toRecord(response)), ...toList(own).map(toPicture)]));
    else if ("inlineData" in part) results.push(join([results.pop() ?? NOTHING, toPicture(part)]));
  }
  return results;
}

function outputOf(response: Json): Shown {
  return textOnly(typeof response["output"] === "string" ? response["output"] : JSON.stringify(response));
}

function toPicture({ inlineData }: Json): Shown {
  const { mimeType, data } = toRecord(inlineData);
  return pictureOnly(mimeType, data);
}

function toResponse(answer: Answer, turn: number): Json {
  const part = "say" in answer ? { text: answer.say } : { functionCall: { id: `call_${turn}`, name: answer.call, args: answer.args } };
  return {
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: "scripted",
    responseId: `response_${turn}`,
  };
}
