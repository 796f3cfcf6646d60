import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CliHome, CliResult } from "../../support/belljar-cli.ts";
import { openCliHome } from "../../support/belljar-cli.ts";
import { richServer, writeMcpConfig } from "../../support/mcp-config.ts";
import type { ModelDialect, ModelServer, ScriptedReply } from "../../support/model-server.ts";
import { openModelServer } from "../../support/model-server.ts";
import type { PersonTerminal } from "../../support/person-terminal.ts";
import { runInTerminal } from "../../support/person-terminal.ts";

interface Place extends AsyncDisposable {
  readonly cli: CliHome;
  readonly model: ModelServer;
  chat(input: string, ...argv: string[]): Promise<CliResult>;
  inTerminal(...argv: string[]): PersonTerminal;
}

async function openPlace(dialect: ModelDialect, script: readonly ScriptedReply[]): Promise<Place> {
  const cli = await openCliHome();
  const model = await openModelServer(dialect, script);
  const file = writeMcpConfig(cli.folder, { rich: richServer() });
  return {
    cli,
    model,
    chat: (input, ...argv) => cli.run(["client", "chat", "--config", file, ...argv], { input, env: model.env }),
    inTerminal: (...argv) => runInTerminal(cli, ["client", "chat", "--config", file, ...argv], { env: { ...model.env, NO_COLOR: "1" } }),
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
}

/** The results that the model was told in its last request. */
function toldOf({ requests }: ModelServer): readonly unknown[] {
  const messages = requests.at(-1)?.body["messages"] as readonly { role: string; content: unknown }[];
  return messages.flatMap(({ role, content }) =>
    role === "tool"
      ? [content]
      : Array.isArray(content)
        ? content.flatMap((part: { type: string; content?: unknown }) => (part.type === "tool_result" ? [part.content] : []))
        : [],
  );
}

const add = { name: "rich__add", args: { a: 1, b: 2 } };

describe.each(["openai", "anthropic"] as const)("a model of %s", (dialect) => {
  it("calls tools for each line of a pipe, and its words alone are on stdout", async () => {
    await using place = await openPlace(dialect, [{ text: "Let me see.", calls: [add] }, { text: "It is 3." }, { text: "Bye." }]);
    const { code, stdout, stderr } = await place.chat("what is 1+2?\nthanks\n", "--yes", "--price", "3/15");
    expect([code, stdout]).toEqual([0, "Let me see.\nIt is 3.\nBye.\n"]);
    expect(toldOf(place.model)).toEqual(["3"]);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^small, with \d+ tools$/) as string,
      '[rich: add] {"a":1,"b":2}',
      "  3",
      "200 tokens in, 20 out; 1 call; $0.0009, $0.0009 so far",
      "100 tokens in, 10 out; $0.0004, $0.0014 so far",
      "",
    ]);
  });

  it("is told what it did wrong, and goes on", async () => {
    const wrong = [
      { name: "rich__ad", args: {} },
      { name: "rich__add", args: "[1" },
      { name: "rich__fail", args: {} },
    ];
    await using place = await openPlace(dialect, [{ calls: wrong }, { text: "Sorry." }]);
    expect(await place.chat("go\n", "--yes")).toMatchObject({ code: 0, stdout: "Sorry.\n" });
    expect(toldOf(place.model)).toEqual([
      expect.stringContaining('There is no tool "rich__ad". Did you mean "rich__add"?') as string,
      "The arguments are no JSON object",
      expect.stringContaining("luck") as string,
    ]);
  });

  it("makes no call that may change something, where nobody can be asked", async () => {
    await using place = await openPlace(dialect, [{ calls: [add] }, { text: "Then not." }]);
    const { stderr } = await place.chat("go\n");
    expect(toldOf(place.model)).toEqual(["The person has not allowed this call"]);
    expect(stderr).toContain("--yes");
  });

  it("has its steps, and no more", async () => {
    await using place = await openPlace(dialect, [{ calls: [add] }]);
    const { code, stderr } = await place.chat("go\n", "--yes", "--max-steps", "3");
    expect([code, place.model.requests.length]).toEqual([0, 3]);
    expect(stderr).toContain("The model has had its 3 steps");
  });
});

it("ends with the code of what the endpoint says, without the key", async () => {
  for (const [status, code] of [
    [401, 3],
    [429, 1],
    [500, 4],
  ] as const) {
    await using place = await openPlace("openai", [{ status, body: { error: { message: "the key k3y" } } }]);
    const { stderr, ...rest } = await place.chat("go\n");
    expect(rest).toEqual({ code, stdout: "" });
    expect(stderr).toContain("the key ***");
    expect(stderr).not.toContain("k3y");
  }
});

it("sends the system's text, and takes wrong options for wrong usage", async () => {
  await using place = await openPlace("openai", [{ text: "Ok." }]);
  writeFileSync(join(place.cli.folder, "system.txt"), "Be kind.");
  await place.chat("go\n", "--system", "system.txt", "--model", "other");
  expect(place.model.requests[0]?.body).toMatchObject({
    model: "other",
    messages: [{ role: "system", content: "Be kind." }, { role: "user" }],
  });
  for (const argv of [
    ["--system", "no"],
    ["--max-steps", "0"],
    ["--price", "3"],
    ["--api", "x"],
  ])
    expect((await place.chat("", ...argv)).code).toBe(2);
});

describe("in a terminal", () => {
  it("shows a call with its arguments before it is made, and asks", async () => {
    await using place = await openPlace("openai", [
      { text: "I'll add.", calls: [add] },
      { text: "No?" },
      { calls: [add] },
      { text: "3\u001b[2J!" },
    ]);
    await using person = place.inTerminal();
    await person.shows(/you> .\[6G$/);
    person.type("add\r");
    await person.shows(/may change something[^]*"a": 1,\r\n {2}"b": 2\r\n\}\r\nCall it\? \[y,n\] $/);
    person.type("n\n");
    await person.shows(/No\?\r\n[^]*you> .\[6G$/);
    person.type("please\r");
    await person.shows(/please[^]*Call it\? \[y,n\] $/);
    person.type("y\n");
    await person.shows(/3\\u\{1b\}\[2J!\r\n[^]*you> .\[6G$/);
    person.type("exit\r");
    const { code, said } = await person.end();
    expect([code, said]).toEqual([0, "restored\n"]);
    expect(toldOf(place.model)).toEqual(["The person has not allowed this call", "3"]);
  });

  it("interrupts a turn with Ctrl+C, and not the chat", async () => {
    await using place = await openPlace("anthropic", [{ text: "A very long story", hangsAfter: 200 }, { calls: [add] }, { text: "Done." }]);
    await using person = place.inTerminal();
    await person.shows(/you> .\[6G$/);
    const spoke = place.model.spoke();
    person.type("tell\r");
    await spoke;
    await person.shows(/A very/);
    person.type("\u0003");
    await person.shows(/Interrupted\.\r\n[^]*you> .\[6G$/);
    person.type("add\r");
    await person.shows(/Call it\? \[y,n\] $/);
    person.type("\u0003");
    await person.shows(/Call it\?[^]*Interrupted\.\r\n[^]*you> .\[6G$/);
    person.type("and now?\r");
    await person.shows(/Done\.\r\n[^]*you> .\[6G$/);
    expect(toldOf(place.model)).toEqual(["The person has interrupted this call"]);
    person.type("\u0004");
    expect((await person.end()).code).toBe(0);
  });

  it("goes on after the endpoint has failed", async () => {
    await using place = await openPlace("openai", [{ status: 500, body: {} }, { text: "Here." }]);
    await using person = place.inTerminal();
    await person.shows(/you> .\[6G$/);
    person.type("one\r");
    await person.shows(/SERVER_UNREACHABLE\)\r\n[^]*you> .\[6G$/);
    person.type("two\r");
    await person.shows(/Here\.\r\n/);
    expect(place.model.requests[1]?.body["messages"]).toEqual([{ role: "user", content: "two" }]);
    person.type("exit\r");
    expect((await person.end()).code).toBe(0);
  });
});
