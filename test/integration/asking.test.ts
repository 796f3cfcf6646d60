import { PassThrough } from "node:stream";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AuditedCall } from "../../src/audit/audit.ts";
import { createCatalog } from "../../src/catalog/catalog.ts";
import type { TextResult, Tool, ToolContext } from "../../src/catalog/tool.ts";
import { defineTool } from "../../src/catalog/tool.ts";
import { textResult } from "../../src/catalog/tool-result.ts";
import { zodSchema } from "../../src/catalog/tool-schema.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import { serveMcpStdio } from "../../src/mcp/server/stdio.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openMcpHttpServer } from "../support/mcp-http-server.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";

/** Tools that ask the person, and tools that call others, with the official client in both eras over both transports. */

const form = zodSchema(z.strictObject({ name: z.string().min(2) }));

async function passOn(context: ToolContext, name: string): Promise<TextResult> {
  const { structured: _, ...result } = await context.call(name, {});
  return result;
}

function tool(name: string, run: (context: ToolContext) => Promise<TextResult>): Tool {
  return defineTool({
    name,
    title: name,
    description: name,
    toolset: "test",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    run,
  });
}

async function askName(context: ToolContext, message: string): Promise<string> {
  const answer = await context.ask({ message, form });
  return answer.accepted ? answer.form.name : answer.reason;
}

function openCatalog() {
  const runs = { greet: 0 };
  const audited: AuditedCall[] = [];
  const clients: (string | undefined)[] = [];
  const source = fixedTools([
    tool("greet", async (context) => {
      runs.greet += 1;
      const first = await askName(context, "What is your name?");
      context.progress({ progress: runs.greet });
      return textResult(`Hello ${first}, friend of ${await askName(context, "And your friend's?")}`);
    }),
    tool("greet_both", async (context) => {
      const names = await Promise.all(["One?", "Two?"].map((message) => askName(context, message)));
      return textResult(names.join(" and "));
    }),
    tool("delegate", async (context) => textResult(`It said: ${String((await context.call("greet", {})).value)}`)),
    tool("endless", (context) => passOn(context, "endless")),
    tool("missing", (context) => passOn(context, "no_such_tool")),
  ]);
  const find: typeof source.find = (caller, name) => (clients.push(caller.client?.id), source.find(caller, name));
  const catalog = createCatalog({
    sources: [{ ...source, find }],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
    audit: { assertWritable: () => undefined, record: (call) => void audited.push(call), written: async () => undefined },
  });
  return { catalog, runs, audited, clients };
}

type Mode = "auto" | "legacy";
type Answers = readonly object[];

function createClient(mode: Mode, answers: Answers | undefined, asked: string[]): Client {
  const capabilities = answers ? { elicitation: {} } : {};
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  const left = [...(answers ?? [])];
  if (answers) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return (left.shift() ?? { action: "cancel" }) as never;
    });
  }
  return client;
}

async function openHttp(mode: Mode, answers?: Answers) {
  const { catalog, ...rest } = openCatalog();
  const server = await openMcpHttpServer({ tools: catalog });
  const asked: string[] = [];
  const client = createClient(mode, answers, asked);
  await client.connect(new StreamableHTTPClientTransport(server.url));
  return { ...rest, client, asked, url: server.url, [Symbol.asyncDispose]: () => client.close().then(() => server[Symbol.asyncDispose]()) };
}

async function openStdio(mode: Mode, answers?: Answers) {
  const { catalog, ...rest } = openCatalog();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = serveMcpStdio({ tools: catalog, version: "1", caller: { principal: LOCAL }, input, output, onError: () => undefined });
  const asked: string[] = [];
  const client = createClient(mode, answers, asked);
  await client.connect(new StdioServerTransport(output, input));
  return { ...rest, client, asked, [Symbol.asyncDispose]: () => server.close() };
}

const accept = (name: unknown) => ({ action: "accept", content: { name } });
const textOf = async (client: Client, name: string): Promise<string> => {
  const { content } = (await client.callTool({ name, arguments: {} })) as { content: { text: string }[] };
  return content.map(({ text }) => text).join("\n");
};

describe.each([
  ["http", "auto", openHttp],
  ["http", "legacy", openHttp],
  ["stdio", "auto", openStdio],
  ["stdio", "legacy", openStdio],
] as const)("over %s, version negotiation %s", (transport, mode, open) => {
  it("asks the person one question after the other, and runs the call once", async () => {
    await using one = await open(mode, [accept("Ada"), accept("Grace")]);
    expect(await textOf(one.client, "greet")).toBe("Hello Ada, friend of Grace");
    expect(one.asked).toEqual(["What is your name?", "And your friend's?"]);
    expect(one.runs.greet).toBe(1);
    expect(one.audited).toMatchObject([{ tool: "greet", outcome: "ok" }]);
  });

  it("asks questions of one moment in their order", async () => {
    await using one = await open(mode, [accept("Ada"), accept("Grace")]);
    expect(await textOf(one.client, "greet_both")).toBe("Ada and Grace");
  });

  it("tells a tool that the person said no, or chose nothing", async () => {
    await using one = await open(mode, [{ action: "decline" }, { action: "cancel" }]);
    expect(await textOf(one.client, "greet")).toBe("Hello declined, friend of cancelled");
  });

  it("takes no answer that is not as the form says", async () => {
    await using one = await open(mode, [accept("A")]);
    expect(await textOf(one.client, "greet")).toMatch(/^ARGUMENTS_INVALID: The answer is not as it was asked for: name: /);
  });

  it("says so where the client cannot ask", async () => {
    await using one = await open(mode);
    expect(await textOf(one.client, "greet")).toMatch(/^PERSON_UNREACHABLE: /);
    expect(one.audited).toMatchObject([{ tool: "greet", outcome: "PERSON_UNREACHABLE" }]);
  });

  it("asks through a call inside another one, and audits it with its parent", async () => {
    await using one = await open(mode, [accept("Ada"), accept("Grace")]);
    expect(await textOf(one.client, "delegate")).toBe("It said: Hello Ada, friend of Grace");
    const [inner, outer] = one.audited;
    expect([inner, outer]).toMatchObject([{ tool: "greet", parent: outer?.requestId }, { tool: "delegate" }]);
    expect(outer?.parent).toBeUndefined();
  });

  it("bounds how deep calls are in each other, and answers an unknown name", async () => {
    await using one = await open(mode);
    expect(await textOf(one.client, "endless")).toMatch(/^FORBIDDEN: Calls are nested deeper than 8/);
    expect(one.audited).toHaveLength(9);
    expect(await textOf(one.client, "missing")).toMatch(/^TOOL_NOT_FOUND: No tool "no_such_tool"/);
  });

  it("tells a source the client's session, where it keeps one", async () => {
    await using one = await open(mode);
    for (let call = 0; call < 2; call += 1) await textOf(one.client, "missing");
    const ids = new Set(one.clients);
    expect(ids.size).toBe(1);
    expect(ids.has(undefined)).toBe(transport === "http" && mode === "auto");
  });
});

const CAPABILITIES = { elicitation: {} };

/** A call as a client of 2026-07-28 sends it. */
async function post(url: URL, params: object, principal = "local"): Promise<{ result?: Record<string, unknown>; error?: unknown }> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
  };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "greet",
    "x-principal": principal,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "greet", arguments: {}, ...params, _meta } });
  const text = await (await fetch(url, { method: "POST", headers, body })).text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { result?: Record<string, unknown> };
}

const answer = (name: string) => ({ inputResponses: { answer: accept(name) } });

it("goes on with a held call for its own principal, name and arguments alone, and once", async () => {
  await using one = await openHttp("auto", []);
  const requestState = (await post(one.url, {})).result?.["requestState"];
  expect(requestState).toMatch(/^belljar-held:[\w-]{32}$/);
  for (const [params, principal] of [
    [{}, "mallory"],
    [{ arguments: { other: 1 } }, "local"],
    [{ requestState: `${String(requestState).slice(0, -1)}_` }, "local"],
  ] as const) {
    expect((await post(one.url, { requestState, ...answer("Eve"), ...params }, principal)).error).toMatchObject({ code: -32602 });
  }
  const next = (await post(one.url, { requestState, ...answer("Ada") })).result?.["requestState"];
  expect((await post(one.url, { requestState, ...answer("Eve") })).error).toMatchObject({ code: -32602 });
  const done = await post(one.url, { requestState: next, ...answer("Grace") });
  expect(JSON.stringify(done.result)).toContain("Hello Ada, friend of Grace");
  expect(one.runs.greet).toBe(1);
});

it("asks again when the answer is none", async () => {
  await using one = await openHttp("auto", []);
  const first = (await post(one.url, {})).result;
  const again = (await post(one.url, { requestState: first?.["requestState"], inputResponses: { other: 1 } })).result;
  expect(again).toEqual(first);
});

it("holds at most 16 calls of one principal", async () => {
  await using one = await openHttp("auto", []);
  for (let call = 0; call < 16; call += 1) expect((await post(one.url, {})).result).toHaveProperty("requestState");
  expect(JSON.stringify((await post(one.url, {})).result)).toContain("QUOTA_EXCEEDED: Too many calls wait");
  expect((await post(one.url, {}, "another")).result).toHaveProperty("requestState");
});
