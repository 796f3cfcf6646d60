import { describe, expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import type { McpTool } from "../../mcp/client/mcp-client.ts";
import { Conversation } from "./conversation.ts";
import type { Model, ModelReply } from "./model.ts";
import type { TurnDoor } from "./run-turn.ts";
import { isDestructive, runTurn } from "./run-turn.ts";

const never = new AbortController().signal;
const USAGE = { inputTokens: 1, outputTokens: 2 };

function toolWith(annotations: unknown): McpTool {
  return { server: "s", tool: "t", name: "s__t", definition: { name: "t", ...(annotations !== undefined && { annotations }) } };
}

function modelOf(...replies: readonly Partial<ModelReply>[]): Model {
  let next = 0;
  return { name: "m", reply: async () => ({ text: "", calls: [], usage: USAGE, ...replies[next++] }) };
}

function doorOf(model: Model, more: Partial<TurnDoor> = {}): TurnDoor {
  return {
    model,
    system: undefined,
    tools: [toolWith({ readOnlyHint: true })],
    maxSteps: 5,
    mayCall: async () => true,
    call: async () => ({ content: [{ type: "text", text: "done" }] }),
    onText: () => undefined,
    onCall: () => undefined,
    onResult: () => undefined,
    onReply: () => undefined,
    ...more,
  };
}

function begin(): Conversation {
  const conversation = new Conversation();
  conversation.add({ role: "user", text: "go" });
  return conversation;
}

const call = (id: string) => ({ id, name: "s__t", argumentsText: "{}" });

describe("a tool", () => {
  it.each([
    [undefined, true],
    [{}, true],
    ["no object", true],
    [{ destructiveHint: true }, true],
    [{ readOnlyHint: false }, true],
    [{ readOnlyHint: "true", destructiveHint: "false" }, true],
    [{ readOnlyHint: true }, false],
    [{ destructiveHint: false }, false],
  ])("with the annotations %j counts as destructive: %s", async (annotations, isIt) => {
    expect(isDestructive(toolWith(annotations))).toBe(isIt);
    let asked = 0;
    const mayCall = async (): Promise<boolean> => ((asked += 1), false);
    const conversation = begin();
    await runTurn(
      conversation,
      doorOf(modelOf({ calls: [call("a")] }, { text: "ok" }), { tools: [toolWith(annotations)], mayCall }),
      never,
    );
    expect(asked).toBe(isIt ? 1 : 0);
    expect(JSON.stringify(conversation.messages).includes("done")).toBe(!isIt);
  });
});

it("gives each call its result, and the model's tokens together", async () => {
  const conversation = begin();
  const result = await runTurn(conversation, doorOf(modelOf({ calls: [call("a"), call("b")] }, { text: "ok" })), never);
  expect(result).toEqual({ usage: { inputTokens: 2, outputTokens: 4, dollars: undefined }, calls: 2, isOut: false });
  expect(conversation.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
});

it("leaves no call without a result when it is interrupted in one", async () => {
  const over = new AbortController();
  const interrupted = async (): Promise<never> => {
    over.abort();
    throw new BelljarError("CANCELLED", "gone");
  };
  const conversation = begin();
  const turn = runTurn(conversation, doorOf(modelOf({ calls: [call("a"), call("b")] }), { call: interrupted }), over.signal);
  await expect(turn).rejects.toMatchObject({ code: "CANCELLED" });
  const last = conversation.messages.at(-1);
  expect(last?.role === "tool" ? last.results.map(({ id, isError }) => [id, isError]) : []).toEqual([
    ["a", true],
    ["b", true],
  ]);
});

it("tells the model how a call failed, and cuts what is too long in its middle", async () => {
  const conversation = begin();
  let first = true;
  const answers = async (): Promise<{ content: object[] }> => {
    if (!first) return { content: [{ type: "text", text: `begin${"x".repeat(100_000)}end` }] };
    first = false;
    throw new BelljarError("EXEC_TIMEOUT", "too late");
  };
  await runTurn(conversation, doorOf(modelOf({ calls: [call("a"), call("b")] }, { text: "ok" }), { call: answers }), never);
  const results = conversation.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  expect(results[0]).toEqual({ id: "a", text: "too late", isError: true });
  expect(results[1]?.text).toMatch(/^beginx+\n\[80008 characters left out\]\nx+end$/);
});
