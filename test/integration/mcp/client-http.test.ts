import { once, EventEmitter } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, fromJsonSchema, McpServer as ModernServer } from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openSession } from "../../../src/mcp/client/server-session.ts";
import { openServers, textOf } from "../../support/mcp-client.ts";

interface HttpServer extends AsyncDisposable {
  readonly url: string;
  /** `POST /mcp`, with the status of its answer. */
  readonly asked: readonly string[];
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

async function serve(handle: Handler, path = "/mcp"): Promise<HttpServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    response.on("close", () => asked.push(`${request.method} ${request.headers["mcp-session-id"] === undefined ? "-" : "session"}`));
    if (request.headers.authorization === "Bearer t0ken") void handle(request, response);
    else response.writeHead(401).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A server of the SDK of the older era. */
function build(): McpServer {
  const server = new McpServer({ name: "far", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool("steps", { inputSchema: { count: z.number() } }, async ({ count }, { sendNotification, _meta }) => {
    const { progressToken } = _meta ?? {};
    for (let progress = 1; progress <= count && progressToken !== undefined; progress += 1)
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress } });
    return { content: [{ type: "text", text: "done" }] };
  });
  server.registerTool("ask", {}, async () => {
    const answer = await server.server.elicitInput({ message: "Who?", requestedSchema: { type: "object", properties: {} } });
    return { content: [{ type: "text", text: answer.action }] };
  });
  server.registerTool("more", {}, async () => {
    server.registerTool("newcomer", {}, async () => ({ content: [] }));
    return { content: [{ type: "text", text: "added" }] };
  });
  return server;
}

/** HTTP with SSE of 2024-11-05: `GET /mcp` streams, `POST /messages` asks. */
async function serveSse(): Promise<HttpServer> {
  const streams = new Map<string, SSEServerTransport>();
  return serve(async (request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    if (request.method === "GET" && url.pathname === "/mcp") {
      const transport = new SSEServerTransport("/messages", response);
      streams.set(transport.sessionId, transport);
      await build().connect(transport);
    } else if (request.method === "POST" && url.pathname === "/messages") {
      await streams.get(url.searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
    } else response.writeHead(405).end();
  });
}

/** Streamable HTTP of 2025 with sessions. */
async function serveSessions(lost?: Set<string>): Promise<HttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return serve(async (request, response) => {
    if (lost?.delete("all")) sessions.clear();
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(request, response);
    if (id !== undefined) return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await build().connect(transport as Parameters<McpServer["connect"]>[0]);
    return transport.handleRequest(request, response);
  });
}

const headers = { Authorization: "Bearer ${TOKEN}" };
const KINDS = [
  ["HTTP with SSE that is named so", serveSse, { type: "sse" }],
  ["HTTP with SSE that is found out", serveSse, {}],
  ["Streamable HTTP with sessions", serveSessions, { type: "http" }],
] as const;

describe.each(KINDS)("%s", (_what, serveKind, entry) => {
  it("is called with the token, tells progress and changes, and asks", async () => {
    await using far = await serveKind();
    const changes = new EventEmitter();
    const onListChanged = (change: object): void => void changes.emit("change", change);
    await using client = await openServers(
      { far: { ...entry, url: far.url, headers } },
      { onListChanged, onElicit: async () => ({ action: "decline" }) },
    );
    expect(client.servers).toMatchObject([{ state: "ready", era: "legacy" }]);
    const told: number[] = [];
    const onProgress = ({ progress }: { readonly progress: number }): void => void told.push(progress);
    const stepping = client.callTool({ server: "far", tool: "steps", arguments: { count: 3 } }, { onProgress });
    expect([textOf(await stepping), told]).toEqual(["done", [1, 2, 3]]);
    expect(textOf(await client.callTool({ server: "far", tool: "ask" }))).toBe("decline");
    const changed = once(changes, "change");
    await client.callTool({ server: "far", tool: "more" });
    expect(await changed).toEqual([{ server: "far", list: "tools" }]);
    expect((await client.listTools()).tools.map(({ tool }) => tool)).toContain("newcomer");
  });
});

it("ends its session at the server", async () => {
  await using far = await serveSessions();
  {
    await using client = await openServers({ far: { url: far.url, headers } });
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  }
  expect(far.asked).toContain("DELETE session");
});

it("begins a new session where the server has lost the one before, and repeats the request", async () => {
  const lost = new Set<string>();
  await using far = await serveSessions(lost);
  await using client = await openServers({ far: { url: far.url, headers } });
  for (const { tool } of (await client.listTools()).tools) expect(tool).not.toBe("newcomer");
  lost.add("all");
  expect(textOf(await client.callTool({ server: "far", tool: "more" }))).toBe("added");
  expect((await client.listTools()).tools.map(({ tool }) => tool)).toContain("newcomer");
});

it("ends with the session that the server has lost", async () => {
  const lost = new Set<string>();
  await using far = await serveSessions(lost);
  const target = { kind: "http", name: "far", url: new URL(far.url), headers: { Authorization: "Bearer t0ken" } } as const;
  await using session = await openSession(target, { version: "1", startTimeoutMs: 60_000 });
  lost.add("all");
  await expect(session.request("tools/list", {})).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  await session.ended;
  expect(session.hasEnded()).toBe(true);
});

it("speaks the modern era over HTTP, with progress", async () => {
  const handler = createMcpHandler(() => {
    const server = new ModernServer({ name: "far", version: "1" });
    server.registerTool("steps", { inputSchema: z.object({ count: z.number() }) }, async ({ count }, { mcpReq }) => {
      const { progressToken } = mcpReq._meta ?? {};
      for (let progress = 1; progress <= count && progressToken !== undefined; progress += 1)
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
      return { content: [{ type: "text", text: "done" }] };
    });
    return server;
  });
  await using far = await serve(toNodeHandler(handler));
  await using client = await openServers({ far: { url: far.url, headers } });
  expect(client.servers).toMatchObject([{ state: "ready", era: "modern" }]);
  const told: number[] = [];
  const call = { server: "far", tool: "steps", arguments: { count: 3 } };
  await client.callTool(call, { onProgress: ({ progress }) => void told.push(progress) });
  expect(told).toEqual([1, 2, 3]);
  await handler.close();
});

it("sends no argument as a header any more once the list lacks the tool that wanted it", async () => {
  const regions: unknown[] = [];
  let isListed = true;
  const handler = createMcpHandler(() => {
    const server = new ModernServer({ name: "far", version: "1" });
    const region = { type: "string", "x-mcp-header": "Region" } as const;
    const inputSchema = fromJsonSchema({ type: "object", properties: { region } });
    server.registerTool(isListed ? "move" : "other", { inputSchema }, async () => ({ content: [] }));
    return server;
  });
  const node = toNodeHandler(handler);
  await using far = await serve((request, response) => {
    if (request.headers["mcp-method"] === "tools/call") regions.push(request.headers["mcp-param-region"]);
    return node(request, response);
  });
  await using client = await openServers({ far: { url: far.url, headers } });
  const call = async (): Promise<unknown> =>
    client.callTool({ server: "far", tool: "move", arguments: { region: "eu" } }).catch(() => "refused");
  await client.listTools();
  await call();
  isListed = false;
  await client.listTools();
  expect(await call()).toBe("refused");
  expect(regions).toEqual(["eu", undefined]);
  await handler.close();
});
