import { describe, expect, it } from "vitest";
import type { ModelDialect, ScriptedReply } from "../../../test/support/model-server.ts";
import { openModelServer } from "../../../test/support/model-server.ts";
import { openModel } from "./chat-settings.ts";
import type { ChatMessage, ModelReply } from "./model.ts";

const never = new AbortController().signal;
const MESSAGES: readonly ChatMessage[] = [
  { role: "user", text: "add" },
  { role: "assistant", text: "", calls: [{ id: "a", name: "add", argumentsText: '{"a":1}' }] },
  { role: "tool", results: [{ id: "a", text: "no", isError: true }] },
  { role: "user", text: "again" },
];
const TOOLS = [{ name: "add", description: "Adds", inputSchema: { type: "object" } }];

async function ask(dialect: ModelDialect, reply: ScriptedReply, pieceBytes?: number): Promise<ModelReply & { readonly heard: string }> {
  await using server = await openModelServer(dialect, [reply], pieceBytes);
  let heard = "";
  const onText = (text: string): void => void (heard += text);
  const model = openModel({ model: undefined, api: undefined }, server.env);
  const answer = await model.reply({ system: "be", messages: MESSAGES, tools: TOOLS }, { signal: never, onText });
  return { ...answer, heard };
}

describe.each(["openai", "anthropic"] as const)("a model of %s", (dialect) => {
  it.each([1, 2, 3, 7, 64, 100_000])("is understood in pieces of %i bytes", async (pieceBytes) => {
    const text = "Grüße, 🙂!";
    const calls = [
      { name: "add", args: { a: 1, s: "ü" } },
      { name: "fail", args: {} },
    ];
    const reply = await ask(dialect, { text, calls }, pieceBytes);
    expect(reply).toMatchObject({ text, heard: text, usage: { inputTokens: 100, outputTokens: 10 } });
    expect(reply.calls.map(({ name, argumentsText }) => [name, JSON.parse(argumentsText)])).toEqual([
      ["add", { a: 1, s: "ü" }],
      ["fail", {}],
    ]);
    expect(new Set(reply.calls.map(({ id }) => id)).size).toBe(2);
  });

  it.each([
    [401, { error: { message: "bad key k3y" } }, "UNAUTHORIZED", /bad key \*\*\*/],
    [403, {}, "UNAUTHORIZED", /_API_KEY/],
    [429, { error: { message: "slow down" } }, "QUOTA_EXCEEDED", /slow down/],
    [400, { error: { message: "no such tool\u001b[2J" } }, "SERVER_REFUSED", /no such tool\\u\{1b\}/],
    [404, "<html>", "SERVER_REFUSED", /404/],
    [500, "oops", "SERVER_UNREACHABLE", /500/],
    [529, { type: "error", error: { type: "overloaded_error" } }, "SERVER_UNREACHABLE", /overloaded_error/],
    [302, "", "SERVER_UNREACHABLE", /cannot be reached/],
    [200, { choices: [] }, "SERVER_INCOMPATIBLE", /no stream/],
  ])("says what went wrong at %i", async (status, body, code, said) => {
    const error = ask(dialect, { status, body, headers: { location: "http://127.0.0.1:1/" } });
    await expect(error).rejects.toMatchObject({ code, message: expect.stringMatching(said) as string });
    await expect(error).rejects.not.toThrow(/k3y/);
  });

  it("takes no reply for whole that was broken off", async () => {
    await expect(ask(dialect, { text: "a long text", breaks: true })).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  it("stops at once when it is interrupted", async () => {
    await using server = await openModelServer(dialect, [{ text: "a long text", hangsAfter: 80 }]);
    const over = new AbortController();
    const model = openModel({ model: undefined, api: undefined }, server.env);
    const onText = (): void => over.abort();
    const asked = model.reply({ system: undefined, messages: MESSAGES, tools: [] }, { signal: over.signal, onText });
    await expect(asked).rejects.toMatchObject({ code: "CANCELLED" });
  });
});

it("sends OpenAI's form", async () => {
  await using server = await openModelServer("openai", [{ text: "ok" }]);
  const model = openModel({ model: "big", api: undefined }, server.env);
  await model.reply({ system: "be", messages: MESSAGES, tools: TOOLS }, { signal: never, onText: () => undefined });
  const [request] = server.requests;
  expect([request?.path, request?.headers.authorization]).toEqual(["/v1/chat/completions", "Bearer k3y"]);
  expect(request?.body).toMatchObject({
    model: "big",
    stream: true,
    messages: [
      { role: "system", content: "be" },
      { role: "user", content: "add" },
      { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "add", arguments: '{"a":1}' } }] },
      { role: "tool", tool_call_id: "a", content: "no" },
      { role: "user", content: "again" },
    ],
    tools: [{ type: "function", function: { name: "add", description: "Adds", parameters: { type: "object" } } }],
  });
});

it("sends Anthropic's form, in which the roles take turns", async () => {
  await using server = await openModelServer("anthropic", [{ text: "ok" }]);
  const model = openModel({ model: "big", api: undefined }, server.env);
  await model.reply({ system: "be", messages: MESSAGES, tools: TOOLS }, { signal: never, onText: () => undefined });
  const [request] = server.requests;
  expect([request?.path, request?.headers["x-api-key"], request?.headers["anthropic-version"]]).toEqual([
    "/v1/messages",
    "k3y",
    "2023-06-01",
  ]);
  expect(request?.body).toMatchObject({
    model: "big",
    system: "be",
    messages: [
      { role: "user", content: [{ type: "text", text: "add" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "add", input: { a: 1 } }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "no", is_error: true },
          { type: "text", text: "again" },
        ],
      },
    ],
    tools: [{ name: "add", description: "Adds", input_schema: { type: "object" } }],
  });
});

describe("the endpoint", () => {
  const wish = { model: "m", api: undefined };
  it.each([
    [{}, /Set OPENAI_API_KEY or ANTHROPIC_API_KEY/],
    [{ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "ftp://x" }, /OPENAI_BASE_URL/],
    [{ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "k" }, /OPENAI_BASE_URL/],
  ])("must be known: %j", (env, said) => {
    expect(() => openModel(wish, env)).toThrow(said);
  });

  it("must have a model, and a dialect that there is", () => {
    expect(() => openModel({ model: undefined, api: undefined }, { ANTHROPIC_API_KEY: "k" })).toThrow(/ANTHROPIC_MODEL/);
    expect(() => openModel({ model: "m", api: "other" }, {})).toThrow(/openai or anthropic/);
    expect(() => openModel({ model: "m", api: "anthropic" }, { OPENAI_API_KEY: "k" })).toThrow(/ANTHROPIC_API_KEY/);
  });
});
