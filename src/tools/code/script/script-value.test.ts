import { expect, it } from "vitest";
import { dataResult, textResult } from "../../../catalog/tool-result.ts";
import { errorResult } from "../../../catalog/result.ts";
import { BelljarError } from "../../../errors.ts";
import { boundTexts, returnedContent, toScriptResult } from "./script-value.ts";

const image = { type: "image", data: "aGk=", mimeType: "image/png" } as const;

it.each([
  ["its structure", dataResult({ a: 1 }), { a: 1 }],
  ["its value", textResult({ code: 0 }, "printed"), { code: 0 }],
  ["its text", textResult("text"), "text"],
  ["its blocks where these are no texts alone", textResult("", [image]), [image]],
])("gives a script of a result %s", (_what, result, value) => {
  expect(toScriptResult(result)).toEqual({ value, content: [] });
});

it("gives of a failure its code and its text", () => {
  const failed = toScriptResult(errorResult(new BelljarError("FORBIDDEN", "no")));
  expect(failed).toEqual({ value: { code: "FORBIDDEN" }, content: [{ type: "text", text: "FORBIDDEN: no" }], isError: true });
  expect(toScriptResult({ ...textResult("x", [image]), isError: true })).toEqual({
    value: { code: "TOOL_FAILED" },
    content: [],
    isError: true,
  });
});

it.each([
  ["text", [{ type: "text", text: "text" }]],
  [{ a: [1] }, [{ type: "text", text: '{"a":[1]}' }]],
  [[image], [image]],
  [image, [image]],
  [[], [{ type: "text", text: "[]" }]],
  [[{ type: "image" }], [{ type: "text", text: '[{"type":"image"}]' }]],
])("shows what a script returned: %j", (value, content) => {
  expect(returnedContent(value)).toEqual(content);
});

it("bounds all texts together, and says where the rest is", () => {
  const kept: string[] = [];
  const results = { keep: (text: string) => (kept.push(text), "belljar://results/x"), read: () => expect.unreachable() };
  const texts = ["a".repeat(60), "b".repeat(60)].map((text) => ({ type: "text", text }) as const);
  const [first, second] = boundTexts([texts[0]!, image, texts[1]!], 100, { results }).filter(({ type }) => type === "text");
  expect(first).toEqual(texts[0]);
  expect(second).toEqual({
    type: "text",
    text: `${"b".repeat(40)}\n[Cut: 40 of 60 bytes are shown. Read on with read_result {"uri":"belljar://results/x?offset=40"}]`,
  });
  expect(kept).toEqual(["b".repeat(60)]);
});
