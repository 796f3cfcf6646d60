import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { AIMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { expect, it } from "vitest";
import { askAgent } from "../../examples/langchain/agent.ts";
import { openTestHome, openTestServer } from "../support/served-home.ts";

/** A model of LangChain that says what a script says, and remembers what it was told. */
class ScriptedModel extends BaseChatModel {
  readonly heard: BaseMessage[][] = [];
  readonly offered: string[] = [];
  readonly #script: readonly AIMessage[];

  constructor(script: readonly AIMessage[]) {
    super({});
    this.#script = script;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(tools: readonly object[]): this {
    this.offered.push(...tools.map((tool) => ("name" in tool ? String(tool.name) : "")));
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = this.#script[this.heard.length] ?? new AIMessage("nothing more");
    this.heard.push(messages);
    return { generations: [{ text: message.text, message }] };
  }
}

it("lets a model of LangChain run programs in its sandbox", async () => {
  await using home = await openTestHome();
  await using server = await openTestServer(home);
  const calls = (id: string, command: string) =>
    new AIMessage({ content: "", tool_calls: [{ id, name: "run_command", args: { command } }] });
  const model = new ScriptedModel([
    calls("one", "echo $((6 * 7)) > kept"),
    calls("two", "cat kept; cat no-such-file"),
    new AIMessage("It is 42."),
  ]);
  const answer = await askAgent("What is 6 * 7?", { model, url: String(server.url), tools: ["run_command", "read_file"] });
  expect(answer).toBe("It is 42.");
  expect(model.offered.toSorted()).toEqual(["read_file", "run_command"]);
  expect(model.heard.map((messages) => messages.length)).toEqual([1, 3, 5]);
  const told = JSON.stringify(model.heard.at(-1)?.at(-1)?.content);
  expect(told).toContain("42");
  expect(told).toContain("No such file");
});
