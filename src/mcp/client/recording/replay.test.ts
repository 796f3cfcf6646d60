import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json-object.ts";
import { readRecording } from "./read-recording.ts";
import { createReplay } from "./replay.ts";

const sent = (message: object, server = "a"): string => JSON.stringify({ server, direction: "sent", message });
const received = (message: object, server = "a"): string => JSON.stringify({ server, direction: "received", message });
const call = (id: number, args: object, meta: object = {}): object => ({
  id,
  method: "tools/call",
  params: { name: "x", arguments: args, _meta: meta },
});

function open(...lines: readonly string[]) {
  const said: JsonObject[] = [];
  const replay = createReplay(readRecording(lines.join("\n"), "file"), (message) => void said.push(message));
  return { said, take: async (message: object) => replay.take(message) };
}

describe("a recording that is played", () => {
  it("answers what was asked, whatever the order of the fields and the id", async () => {
    const { said, take } = open(sent(call(1, { a: 1, b: [2] })), received({ id: 1, result: { n: 1 } }));
    await take(call(7, { b: [2], a: 1 }, { progressToken: 9 }));
    expect(said).toEqual([{ id: 7, result: { n: 1 } }]);
  });

  it("gives the answers to one request in their order, and then the last one", async () => {
    const lines = [1, 2].flatMap((id) => [sent(call(id, {})), received({ id, result: { n: id } })]);
    const { said, take } = open(...lines);
    for (const id of [5, 6, 7]) await take(call(id, {}));
    expect(said.map(({ result }) => result)).toEqual([{ n: 1 }, { n: 2 }, { n: 2 }]);
  });

  it("refuses a request that is nested too deep to look for", async () => {
    const { said, take } = open(sent(call(1, {})), received({ id: 1, result: {} }));
    await take(call(5, JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`) as object));
    expect(said).toMatchObject([{ id: 5, error: { code: -32_602 } }]);
  });

  it("tells the progress of a call before its answer, under the token of the new call", async () => {
    const progress = (progressToken: number, value: number) => ({
      method: "notifications/progress",
      params: { progressToken, progress: value },
    });
    const { said, take } = open(
      sent(call(1, { a: 1 }, { progressToken: 1 })),
      sent(call(2, { a: 2 }, { progressToken: 2 })),
      received(progress(1, 10)),
      received(progress(2, 20)),
      received({ id: 2, result: {} }),
      received({ id: 1, result: {} }),
    );
    await take(call(8, { a: 1 }, { progressToken: 80 }));
    expect(said).toEqual([progress(80, 10), { id: 8, result: {} }]);
  });

  it("asks what was asked, and waits for the answer", async () => {
    const question = { id: 3, method: "elicitation/create", params: { message: "Who?" } };
    const { said, take } = open(sent(call(1, {})), received(question), sent({ id: 3, result: {} }), received({ id: 1, result: {} }));
    const taken = take(call(9, {}));
    expect(said).toEqual([question]);
    await take({ id: 3, result: { action: "decline" } });
    await taken;
    expect(said.at(-1)).toEqual({ id: 9, result: {} });
  });

  it("answers a greeting whatever the client says of itself, and refuses what was never asked", async () => {
    const greeting = (id: number, name: string) => ({ id, method: "initialize", params: { clientInfo: { name } } });
    const { said, take } = open(
      sent(greeting(1, "a")),
      received({ id: 1, result: {} }),
      sent(call(2, {})),
      received({ id: 2, result: {} }),
    );
    await take(greeting(4, "b"));
    await take({ id: 5, method: "ping" });
    await take(call(6, { other: 1 }));
    await take({ id: 7, method: "prompts/list" });
    await take({ method: "notifications/initialized" });
    expect(said).toMatchObject([
      { id: 4, result: {} },
      { id: 5, result: {} },
      { id: 6, error: { code: -32_602 } },
      { id: 7, error: { code: -32_601 } },
    ]);
  });

  it("leaves a request open that was never answered, and tells what came on it", async () => {
    const acknowledged = (id: number) => ({
      method: "notifications/x",
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": id } },
    });
    const { said, take } = open(sent({ id: 1, method: "subscriptions/listen" }), received(acknowledged(1)));
    await take({ id: 6, method: "subscriptions/listen" });
    expect(said).toEqual([acknowledged(6)]);
  });

  it.each([
    ["no JSON", "{", /line 2/],
    ["another JSON", '{"server":"a","direction":"up","message":{}}', /line 2/],
    ["another server", received({}, "b"), /recording of a, b: name one/],
  ])("is refused for a line with %s", (_what, line, said) => {
    expect(() => readRecording(`${sent({})}\n${line}`, "file")).toThrow(said);
  });
});
