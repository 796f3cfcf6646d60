import { once } from "node:events";
import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { describe, expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { serveMcpStdio } from "./stdio.ts";

const ERAS = ["auto", "legacy"] as const;

function openServer() {
  const probe = createCallProbe();
  const input = new PassThrough();
  const output = new PassThrough();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const server = serveMcpStdio({ tools: probe.tools, version: "1.2.3", caller: { principal: LOCAL }, input, output, onError });
  return { probe, input, output, errors, server, [Symbol.asyncDispose]: () => server.close() };
}

/** The framing is the same on both sides, so the server's transport serves the client too. */
async function connect(server: ReturnType<typeof openServer>, mode: (typeof ERAS)[number]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StdioServerTransport(server.output, server.input));
  return client;
}

describe.each(ERAS)("a stdio client with version negotiation %s", (era) => {
  it("lists the tools with their schemas", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["echo", "report", "explode", "wait"]);
    expect(tools[0]).toMatchObject({ title: "Echo", inputSchema: { type: "object", required: ["text"] } });
  });

  it("gets data as a text and as a structure", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    const result = await client.callTool({ name: "echo", arguments: { text: "grüezi" } });
    expect(result).toMatchObject({ content: [{ type: "text", text: '{"text":"grüezi"}' }], structuredContent: { text: "grüezi" } });
  });

  it("gets bad arguments as a result that a model can act on", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    expect(await client.callTool({ name: "echo", arguments: { text: 5 } })).toMatchObject({ isError: true });
  });

  it("gets an error of the protocol for an unknown tool", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    await expect(client.callTool({ name: "nope", arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it("sees progress when it asks for it", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    const seen: unknown[] = [];
    await client.callTool({ name: "report", arguments: {} }, { onprogress: (progress) => void seen.push(progress) });
    expect(seen).toEqual([{ progress: 1, total: 2, message: "half way" }]);
  });

  it("stops the work when it cancels a call", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    const cancel = new AbortController();
    const started = server.probe.started();
    const call = client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal });
    await started;
    cancel.abort(new Error("changed my mind"));
    await expect(call).rejects.toThrow("changed my mind");
    await server.probe.cleaned;
  });

  it("stops the work when it goes away, and ends", async () => {
    await using server = openServer();
    const client = await connect(server, era);
    const started = server.probe.started();
    client.callTool({ name: "wait", arguments: {} }).catch(() => undefined);
    await started;
    server.input.end();
    await server.probe.cleaned;
    await server.server.closed;
  });
});

it.each(ERAS)("tells a client with version negotiation %s that the list changed", async (mode) => {
  await using server = openServer();
  const client = await connect(server, mode);
  const changed = new Promise<void>((resolve) => client.setNotificationHandler("notifications/tools/list_changed", () => resolve()));
  if (mode === "auto") await client.listen({ toolsListChanged: true });
  server.probe.more.set([]);
  await changed;
});

it("sends no progress to a client that did not ask", async () => {
  await using server = openServer();
  const client = await connect(server, "legacy");
  const seen: unknown[] = [];
  client.fallbackNotificationHandler = async (notification) => void seen.push(notification);
  await client.callTool({ name: "report", arguments: {} });
  await client.ping();
  expect(seen).toEqual([]);
});

it("says how long a modern client may keep the list, and that it is the caller's own", async () => {
  await using server = openServer();
  const client = await connect(server, "auto");
  expect(await client.listTools()).toMatchObject({ ttlMs: 60_000, cacheScope: "private" });
});

it("keeps serving after a line that is not JSON, and writes nothing but messages", async () => {
  await using server = openServer();
  server.input.write("this is not JSON\n");
  server.input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  const [chunk] = await once(server.output, "data");
  expect(JSON.parse(String(chunk))).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
});

it("asks nothing more of a client that leaves its answers unread, and loses none", async () => {
  await using server = openServer();
  const text = "x".repeat(500_000);
  const call = (id: number): string =>
    `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "echo", arguments: { text } } })}\n`;
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const paused = once(server.input, "pause");
  server.input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params })}\n`);
  for (let id = 1; id <= 20; id += 1) server.input.write(call(id));
  await paused;
  let lines = 0;
  for await (const chunk of server.output) {
    lines += String(chunk).split("\n").length - 1;
    if (lines === 21) break;
  }
});
