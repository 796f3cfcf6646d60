import { expect, it } from "vitest";
import { askForm } from "./ask-form.ts";

it("shows the start of a name that is long, and answers with all of it", async () => {
  const key = "k".repeat(100_000);
  const shown: string[] = [];
  const ask = async (prompt: string): Promise<string> => {
    shown.push(prompt);
    return "x";
  };
  const say = (text: string): void => void shown.push(text);
  const content = await askForm({ type: "object", properties: { [key]: { type: "string" } }, required: [key] }, { ask, say });
  expect(content).toEqual({ [key]: "x" });
  expect(shown.map(({ length }) => length > 1000)).toEqual([false, false]);
});
