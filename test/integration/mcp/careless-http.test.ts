import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as next } from "node:timers/promises";
import { createGzip, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openServers, textOf } from "../../support/mcp-client.ts";

const LARGE = 50_000_000;
const JSON_TYPE = { "content-type": "application/json" };
const EVENTS_TYPE = { "content-type": "text/event-stream" };
const ping = 'data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n';

const answer = (id: unknown, said: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: said }] } });

const values = (id: unknown): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[${"[],".repeat(200_000)}[]]}}`;

/** How each tool answers. */
const TOOLS: Readonly<Record<string, (response: ServerResponse, id: unknown) => void | Promise<void>>> = {
  echo: (response, id) => void response.writeHead(200, JSON_TYPE).end(answer(id, "on")),
  json: (response, id) =>
    void response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(gzipSync(answer(id, "x".repeat(LARGE)))),
  event: (response, id) =>
    void response
      .writeHead(200, { ...EVENTS_TYPE, "content-encoding": "gzip" })
      .end(gzipSync(`data: ${answer(id, "x".repeat(LARGE))}\n\n`)),
  lines: (response) =>
    void response.writeHead(200, { ...EVENTS_TYPE, "content-encoding": "gzip" }).end(gzipSync("data: x\n".repeat(LARGE / 8))),
  values: (response, id) => void response.writeHead(200, JSON_TYPE).end(values(id)),
  valuesEvent: (response, id) => void response.writeHead(200, EVENTS_TYPE).end(`data: ${values(id)}\n\n`),
  asks: async (response) => {
    response.writeHead(200, EVENTS_TYPE);
    while (!response.destroyed) {
      if (!response.write(ping.repeat(100))) await Promise.race([once(response, "drain"), once(response, "close")]);
      await next();
    }
  },
  events: (response, id) => {
    const stream = createGzip();
    stream.pipe(response.writeHead(200, { ...EVENTS_TYPE, "content-encoding": "gzip" }));
    const told = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x".repeat(1_000_000) } };
    for (const end of ["\n\n", "\r\n\r\n", "\r\r"])
      for (let event = 0; event < 12; event += 1) stream.write(`data: ${JSON.stringify(told)}${end}`);
    stream.end(`data: ${answer(id, "all")}\n\n`);
  },
};

/** A server by hand that takes no answer. */
async function serveCareless(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
  const handle = async (request: Parameters<typeof text>[0] & { method?: string }, response: ServerResponse): Promise<void> => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await text(request)) as { id?: unknown; method?: string; params?: { name: string } };
    if (method === undefined) return;
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call") return await TOOLS[params?.name ?? ""]?.(response, id);
    const greeting = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "careless", version: "1" } };
    const body = method === "initialize" ? { result: greeting } : { error: { code: -32_601, message: "no" } };
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  };
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("a server over HTTP", () => {
  it.each([
    ["answers with much more than it sends", "json", "RESULT_TOO_LARGE"],
    ["sends a large event", "event", "RESULT_TOO_LARGE"],
    ["sends an event that does not end", "lines", "RESULT_TOO_LARGE"],
    ["answers with very many values", "values", "RESULT_TOO_LARGE"],
    ["sends an event of very many values", "valuesEvent", "RESULT_TOO_LARGE"],
    ["asks without end and takes no answer", "asks", "SERVER_INCOMPATIBLE"],
  ])("that %s fails the call, and serves the next one", async (_what, tool, code) => {
    await using far = await serveCareless();
    await using client = await openServers({ far: { type: "http", url: far.url } });
    await expect(client.callTool({ server: "far", tool })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/^The server "far" (sent a message that is too large|does not take the answers)/) as unknown,
    });
    expect(textOf(await client.callTool({ server: "far", tool: "echo" }))).toBe("on");
  });

  it("may send more than a message may have in many events", async () => {
    await using far = await serveCareless();
    await using client = await openServers({ far: { type: "http", url: far.url } });
    expect(textOf(await client.callTool({ server: "far", tool: "events" }))).toBe("all");
  });
});
