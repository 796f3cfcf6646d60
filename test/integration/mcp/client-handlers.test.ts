import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once, EventEmitter } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { McpQuestion, WireRecord } from "../../../src/mcp/client/mcp-client.ts";
import { openMcpClient } from "../../../src/mcp/client/open-mcp-client.ts";
import { richServer } from "../../support/mcp-config.ts";
import { openServers, textOf } from "../../support/mcp-client.ts";

describe.each(["modern", "legacy"] as const)("a server of the %s era", (era) => {
  const servers = { rich: richServer(era) };

  it("gives prompts, templates, completion and instructions", async () => {
    await using client = await openServers(servers);
    expect(client.servers).toMatchObject([{ era, instructions: "Be kind", capabilities: { tools: { listChanged: true } } }]);
    expect(await client.getPrompt({ server: "rich", name: "greet", arguments: { name: "Ann" } })).toMatchObject({
      messages: [{ role: "user", content: { text: "hello Ann" } }],
    });
    expect((await client.listResourceTemplates("rich")).map(({ uriTemplate }) => uriTemplate)).toEqual(["people://{id}"]);
    const ofPrompt = { server: "rich", ref: { type: "ref/prompt", name: "greet" }, argument: { name: "name", value: "a" } } as const;
    expect(await client.complete(ofPrompt)).toMatchObject({ completion: { values: ["ann"] } });
    const ofTemplate = {
      server: "rich",
      ref: { type: "ref/resource", uri: "people://{id}" },
      argument: { name: "id", value: "a" },
    } as const;
    expect(await client.complete(ofTemplate)).toMatchObject({ completion: { values: ["anna", "arne"] } });
  });

  it("tells how far a call is", async () => {
    await using client = await openServers(servers);
    const told: number[] = [];
    const call = { server: "rich", tool: "steps", arguments: { count: 3 } };
    expect(textOf(await client.callTool(call, { onProgress: ({ progress }) => void told.push(progress) }))).toBe("done");
    expect(told).toEqual([1, 2, 3]);
  });

  it("asks a person in a call, who gets the question as it was sent", async () => {
    const questions: McpQuestion[] = [];
    const onElicit = async (question: McpQuestion) => {
      questions.push(question);
      return { action: "accept", content: { name: "Ann", age: 41 } };
    };
    await using client = await openServers(servers, { onElicit });
    expect(textOf(await client.callTool({ server: "rich", tool: "ask" }))).toBe('{"name":"Ann","age":41}');
    expect(questions).toMatchObject([
      { server: "rich", params: { message: "Who\u001b[31m are you?", requestedSchema: { type: "object" } } },
    ]);
  });

  it("is told that nobody can be asked where no program answers", async () => {
    await using client = await openServers(servers);
    const asked = client.callTool({ server: "rich", tool: "ask" }).catch((error: unknown) => error);
    expect(await asked).toMatchObject(era === "modern" ? { code: "SERVER_REFUSED" } : { isError: true });
    expect(textOf(await client.callTool({ server: "rich", tool: "add", arguments: { a: 1 } }))).toBe("1");
  });

  it("tells that its list of tools has changed, and nobody lists them unasked", async () => {
    const changes = new EventEmitter();
    const wire: WireRecord[] = [];
    const onListChanged = (change: object): void => void changes.emit("change", change);
    await using client = await openServers(servers, { onListChanged, onMessage: (record) => void wire.push(record) });
    const changed = once(changes, "change");
    expect(textOf(await client.callTool({ server: "rich", tool: "more" }))).toBe("added");
    expect(await changed).toEqual([{ server: "rich", list: "tools" }]);
    expect(wire.map(({ message }) => (message as { method?: string }).method)).not.toContain("tools/list");
    expect((await client.listTools()).tools.map(({ tool }) => tool)).toContain("newcomer");
  });

  it("shows every message to a program that wants them, the first ones too", async () => {
    const wire: WireRecord[] = [];
    await using client = await openServers(servers, { onMessage: (record) => void wire.push(record) });
    await client.callTool({ server: "rich", tool: "add", arguments: { a: 1 } });
    const sent = wire.filter(({ direction }) => direction === "sent").map(({ message }) => (message as { method: string }).method);
    const begun = era === "modern" ? ["server/discover"] : ["server/discover", "initialize", "notifications/initialized"];
    expect(sent).toEqual([...begun, "tools/call"]);
    expect(wire.at(-1)).toMatchObject({ server: "rich", direction: "received", message: { result: { content: [{ text: "1" }] } } });
  });
});

it("gives a server the variables of its envFile and the answers of a person, and asks for what is needed alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-env-"));
  try {
    writeFileSync(join(folder, "a.env"), "FROM_FILE=file\nBOTH=file\n");
    const env = { BOTH: "entry", ASKED: "${input:key}" };
    const args = ["-c", 'echo "$FROM_FILE $BOTH $ASKED" >&2; exit 9'];
    const inputs = ["key", "unused"].map((id) => ({ id, type: "promptString", description: id }));
    const asked: string[] = [];
    const ask = async ({ id }: { readonly id: string }): Promise<string> => {
      asked.push(id);
      return "answer";
    };
    const config = { servers: { one: { command: "sh", args, env, envFile: "${workspaceFolder}/a.env" } }, inputs };
    const options = { config, env: { PATH: process.env["PATH"] }, workspaceFolder: folder, userHome: "/home/ann" };
    await using client = await openMcpClient({ ...options, ask });
    expect(client.servers[0]?.error?.message).toMatch(/exit code 9(?: before it answered)?\n {2}file entry answer$/);
    expect(asked).toEqual(["key"]);
    await using unasked = await openMcpClient(options);
    expect(unasked.servers[0]?.error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining('input "key"') as unknown });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
