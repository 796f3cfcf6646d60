import { expect, it } from "vitest";
import { toCalled } from "../../../test/support/tool-caller.ts";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";
import * as z from "zod";
import { createCatalog } from "../../catalog/catalog.ts";
import { fixedTools } from "../../catalog/tool-source.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { readResult } from "./read-result.ts";

const signal = new AbortController().signal;
const TEXT = Array.from({ length: 1_000 }, (_, line) => `line ${line}\n`).join("");

const long = defineTool({
  name: "long",
  title: "Long",
  description: "Answers much",
  toolset: "test",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({}),
  run: async () => textResult(TEXT),
});

function open() {
  return createCatalog({
    sources: [fixedTools([long, readResult])],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
    limits: { textBytes: 4_096 },
  });
}

it("gives the rest of a cut result from where the cut result says", async () => {
  const catalog = open();
  const { content } = await catalog.call(LOCAL, "long", {}, { signal });
  const [shown, note] = content.map((block) => (block.type === "text" ? block.text : ""));
  const uri = /belljar:\/\/\S+\d/.exec(note ?? "")?.[0];
  let text = shown ?? "";
  for (let args: object | undefined = { uri, limit: 1_500 }; args;) {
    const { value } = toCalled(await catalog.call(LOCAL, "read_result", args, { signal }));
    text += String(value["text"]);
    args = typeof value["next_offset"] === "number" ? { uri, limit: 1_500, offset: value["next_offset"] } : undefined;
  }
  expect(text).toBe(TEXT);
});

it("answers another owner as it answers an address that there is not", async () => {
  const catalog = open();
  await catalog.call(LOCAL, "long", {}, { signal });
  const [kept] = catalog.results.list(LOCAL);
  const result = await catalog.call({ id: "other", name: "other" }, "read_result", { uri: kept?.uri }, { signal });
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("RESOURCE_NOT_FOUND: No result") }] });
});
