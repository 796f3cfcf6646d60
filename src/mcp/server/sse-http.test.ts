import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { Client, SSEClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { openMcpHttpServer } from "../../../test/support/mcp-http-server.ts";

async function open(left: (clientId: string) => void = () => undefined) {
  const probe = createCallProbe();
  const server = await openMcpHttpServer({ tools: probe.tools, left: (_, clientId) => left(clientId) });
  const client = new Client({ name: "old", version: "1" });
  await client.connect(new SSEClientTransport(new URL("/sse", server.url)));
  return { probe, server, client, [Symbol.asyncDispose]: () => client.close().then(() => server[Symbol.asyncDispose]()) };
}

it("lists and calls tools for a client of 2024-11-05", async () => {
  await using one = await open();
  expect((await one.client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "report", "explode", "wait"]);
  expect(await one.client.callTool({ name: "echo", arguments: { text: "grüezi" } })).toMatchObject({
    structuredContent: { text: "grüezi" },
  });
});

it("tells of progress and of a list that changed", async () => {
  await using one = await open();
  const cancel = new AbortController();
  const started = one.probe.started();
  const progressed = new Promise<unknown>((resolve) => {
    const options = { signal: cancel.signal, onprogress: ({ message }: { message?: string }) => resolve(message) };
    one.client.callTool({ name: "wait", arguments: {} }, options).catch(() => undefined);
  });
  (await started).progress({ progress: 1, message: "half way" });
  expect(await progressed).toBe("half way");
  cancel.abort();
  const changed = new Promise<void>((resolve) => one.client.setNotificationHandler("notifications/tools/list_changed", () => resolve()));
  one.probe.more.set([]);
  await changed;
});

it("stops the work of a call that is cancelled", async () => {
  await using one = await open();
  const cancel = new AbortController();
  const started = one.probe.started();
  const call = one.client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal });
  await started;
  cancel.abort(new Error("changed my mind"));
  await expect(call).rejects.toThrow("changed my mind");
  await one.probe.cleaned;
});

it("stops the work of a client that goes, and tells of it", async () => {
  let tell: (clientId: string) => void = () => undefined;
  const left = new Promise<string>((resolve) => (tell = resolve));
  await using one = await open(tell);
  const started = one.probe.started();
  one.client.callTool({ name: "wait", arguments: {} }).catch(() => undefined);
  const { clientId } = await started;
  await one.client.close();
  await one.probe.cleaned;
  expect([await left]).toEqual([clientId]);
});

it("takes no message for another's session, for none, or that is none", async () => {
  await using one = await open();
  const stream = await get(new URL("/sse", one.server.url));
  const [chunk] = (await once(stream, "data")) as [Buffer];
  const endpoint = new URL(/data: (\S+)/.exec(chunk.toString())?.[1] ?? "", one.server.url);
  const post = async (url: URL, body: unknown, principal = "local"): Promise<number> => {
    const headers = { "content-type": "application/json", "x-principal": principal };
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
  };
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect(await post(endpoint, ping)).toBe(202);
  expect(await post(endpoint, ping, "stranger")).toBe(404);
  expect(await post(new URL("/messages?sessionId=nope", one.server.url), ping)).toBe(404);
  expect(await post(endpoint, { hello: 1 })).toBe(400);
  stream.destroy();
});

async function get(url: URL): Promise<IncomingMessage> {
  const sent = request(url).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}
