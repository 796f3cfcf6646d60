import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { createCallProbe } from "../../support/call-probe.ts";
import { createNoSandboxes } from "../../support/no-sandboxes.ts";
import type { Isolation } from "../../../src/runtime/contract/runtime.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";

const ISOLATION: Isolation = {
  runtime: "fake",
  available: true,
  checks: [],
  limits: [],
  users: "two",
  terminals: true,
  pause: false,
  sleep: false,
  stop: false,
  states: "none",
};
const ERAS = ["auto", "legacy"] as const;

async function openGateway(overrides: { host?: string; isolation?: () => Promise<Isolation> } = {}) {
  const probe = createCallProbe();
  const logged: unknown[] = [];
  const gateway = createGateway({
    config: { host: overrides.host ?? "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    tools: probe.tools,
    isolation: overrides.isolation ?? (async () => ISOLATION),
    version: "1.2.3",
    log: { error: (fields) => void logged.push(fields) },
  });
  const url = await gateway.listen();
  return { probe, logged, gateway, url, [Symbol.asyncDispose]: () => gateway.close(0) };
}

type OpenGateway = Awaited<ReturnType<typeof openGateway>>;

async function connectClient({ url }: OpenGateway, mode: (typeof ERAS)[number]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url)));
  return client;
}

interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** `fetch` refuses to set Host. */
async function ask(
  { url }: OpenGateway,
  { method = "GET", path, headers = {}, body }: Ask,
): Promise<{ status: number; headers: IncomingMessage["headers"]; text: string }> {
  const sent = request(new URL(path, url), { method, headers, agent: false });
  // A server that refuses a body closes before it has read all of it.
  sent.on("error", () => undefined);
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

const JSON_TYPE = { "content-type": "application/json" };
const MCP_HEADERS = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
});

describe.each(ERAS)("an HTTP client with version negotiation %s", (era) => {
  it("lists and calls tools", async () => {
    await using server = await openGateway();
    const client = await connectClient(server, era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("echo");
    expect(await client.callTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({ structuredContent: { text: "hi" } });
    await client.close();
  });

  it("sees progress when it asks for it", async () => {
    await using server = await openGateway();
    const client = await connectClient(server, era);
    const seen: unknown[] = [];
    await client.callTool({ name: "report", arguments: {} }, { onprogress: (progress) => void seen.push(progress) });
    expect(seen).toEqual([{ progress: 1, total: 2, message: "half way" }]);
    await client.close();
  });

  it("stops the work when it cancels a call", async () => {
    await using server = await openGateway();
    const client = await connectClient(server, era);
    const cancel = new AbortController();
    const started = server.probe.started();
    const call = client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal });
    await started;
    cancel.abort(new Error("changed my mind"));
    await expect(call).rejects.toThrow("changed my mind");
    await server.probe.cleaned;
    await client.close();
  });

  it("stops the work when it goes away", async () => {
    await using server = await openGateway();
    const client = await connectClient(server, era);
    const started = server.probe.started();
    client.callTool({ name: "wait", arguments: {} }).catch(() => undefined);
    await started;
    await client.close();
    await server.probe.cleaned;
  });

  it("is cut off, its work stopped, when the server closes", async () => {
    await using server = await openGateway();
    const client = await connectClient(server, era);
    const started = server.probe.started();
    const call = client.callTool({ name: "wait", arguments: {} });
    call.catch(() => undefined);
    await started;
    await server.gateway.close(0);
    await server.probe.cleaned;
    await client.close();
  });
});

it("tells a modern client that the list changed", async () => {
  await using server = await openGateway();
  const client = await connectClient(server, "auto");
  const changed = new Promise<void>((resolve) => client.setNotificationHandler("notifications/tools/list_changed", () => resolve()));
  await client.listen({ toolsListChanged: true });
  server.probe.more.set([]);
  await changed;
  await client.close();
});

it("tells a legacy client that the list changed", async () => {
  await using server = await openGateway();
  const opened = await ask(server, { method: "POST", path: "/mcp", headers: MCP_HEADERS, body: INITIALIZE });
  const headers = {
    accept: "text/event-stream",
    "mcp-session-id": String(opened.headers["mcp-session-id"]),
    "mcp-protocol-version": "2025-06-18",
  };
  const sent = request(new URL("/mcp", server.url), { headers, agent: false }).end();
  const [stream] = (await once(sent, "response")) as [IncomingMessage];
  server.probe.more.set([]);
  const [chunk] = (await once(stream, "data")) as [Buffer];
  expect(String(chunk)).toContain("notifications/tools/list_changed");
  sent.destroy();
});

describe("/mcp", () => {
  it("answers bad JSON with a parse error", async () => {
    await using server = await openGateway();
    const answer = await ask(server, { method: "POST", path: "/mcp", headers: MCP_HEADERS, body: "{nope" });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32700 } });
  });

  it("refuses a body of over 4 MiB", async () => {
    await using server = await openGateway();
    const body = JSON.stringify({ text: "x".repeat(4 * 1024 * 1024) });
    const answer = await ask(server, { method: "POST", path: "/mcp", headers: MCP_HEADERS, body });
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32000 } });
  });

  it("refuses a body of more values than any request means", async () => {
    await using server = await openGateway();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: Array(10_000).fill(0) } });
    const answer = await ask(server, { method: "POST", path: "/mcp", headers: MCP_HEADERS, body });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("more than 10000 values")]);
  });

  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])("speaks the revision %s", async (protocolVersion) => {
    await using server = await openGateway();
    const body = INITIALIZE.replace("2025-06-18", protocolVersion);
    const opened = await ask(server, { method: "POST", path: "/mcp", headers: MCP_HEADERS, body });
    expect(opened.text).toContain(`"protocolVersion":"${protocolVersion}"`);
    const headers = { ...MCP_HEADERS, "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    const list = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    expect((await ask(server, { method: "POST", path: "/mcp", headers, body: list })).text).toContain('"name":"echo"');
  });

  it("does not know a session that never was", async () => {
    await using server = await openGateway();
    const headers = { ...MCP_HEADERS, "mcp-session-id": "never" };
    const answer = await ask(server, {
      method: "POST",
      path: "/mcp",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    expect(answer.status).toBe(404);
  });

  it("keeps nothing of a client whose initialize is refused", async () => {
    await using server = await openGateway();
    const { tools } = server.probe;
    const onChange = tools.onChange.bind(tools);
    const dropped = new Promise<void>((resolve) => {
      const watched: typeof onChange = (listener) => {
        const stop = onChange(listener);
        return () => {
          stop();
          resolve();
        };
      };
      Object.assign(server.probe.tools, { onChange: watched });
    });
    const answer = await ask(server, { method: "POST", path: "/mcp", headers: { ...JSON_TYPE, accept: "text/html" }, body: INITIALIZE });
    expect(answer.status).toBe(406);
    await dropped;
  });

  it("forgets a session that its client deletes", async () => {
    await using server = await openGateway();
    const opened = await ask(server, { method: "POST", path: "/mcp", headers: MCP_HEADERS, body: INITIALIZE });
    const headers = { ...MCP_HEADERS, "mcp-session-id": String(opened.headers["mcp-session-id"]), "mcp-protocol-version": "2025-06-18" };
    const ping = { method: "POST", path: "/mcp", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }) };
    expect((await ask(server, ping)).status).toBe(200);
    expect((await ask(server, { method: "DELETE", path: "/mcp", headers })).status).toBe(200);
    expect((await ask(server, ping)).status).toBe(404);
  });

  it("tells nobody the details of a bug in a tool", async () => {
    await using server = await openGateway();
    const client = await connectClient(server, "auto");
    const result = await client.callTool({ name: "explode", arguments: {} });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result)).not.toContain("a secret detail");
    await client.close();
  });

  it("refuses a sandbox name with other characters", async () => {
    await using server = await openGateway();
    const answer = await ask(server, { method: "POST", path: "/mcp?sandbox=a/b", headers: MCP_HEADERS, body: INITIALIZE });
    expect(answer.status).toBe(400);
  });
});

describe("what a web page could make a browser send", () => {
  const paths = [
    { method: "GET", path: "/health" },
    { method: "POST", path: "/mcp", headers: MCP_HEADERS, body: INITIALIZE },
    { method: "GET", path: "/v1/sandboxes" },
    { method: "POST", path: "/v1/sandboxes", headers: JSON_TYPE, body: "{}" },
    { method: "GET", path: "/v1/sandboxes/aaaaaaaa/guest" },
    { method: "GET", path: "/nowhere" },
  ];

  it.each(paths)("is refused under a name that was rebound to this address: $method $path", async (sent) => {
    await using server = await openGateway();
    expect((await ask(server, { ...sent, headers: { ...sent.headers, host: "evil.example" } })).status).toBe(403);
  });

  it.each(paths)("is refused from a page of another site: $method $path", async (sent) => {
    await using server = await openGateway();
    expect((await ask(server, { ...sent, headers: { ...sent.headers, origin: "https://evil.example" } })).status).toBe(403);
    expect((await ask(server, { ...sent, headers: { ...sent.headers, origin: "null" } })).status).toBe(403);
  });

  it.each(paths)("is refused as what a page of another site loads: $method $path", async (sent) => {
    await using server = await openGateway();
    for (const site of ["cross-site", "same-site"]) {
      const headers = { ...sent.headers, "sec-fetch-site": site, "sec-fetch-mode": "no-cors" };
      expect((await ask(server, { ...sent, headers })).status).toBe(403);
    }
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])("is refused as %s", async (type) => {
    await using server = await openGateway();
    for (const path of ["/mcp", "/v1/sandboxes"]) {
      const answer = await ask(server, { method: "POST", path, headers: { "content-type": type }, body: INITIALIZE });
      expect(answer.status).toBe(415);
    }
  });

  it("is refused as an upgrade from a page of another site", async () => {
    await using server = await openGateway();
    const socket = connect(Number(server.url.port), "127.0.0.1");
    socket.write(
      "GET /v1/sandboxes/aaaaaaaa/guest HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: belljar-guest\r\nOrigin: https://evil.example\r\n\r\n",
    );
    const [chunk] = await once(socket, "data");
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  });
});

describe("REST", () => {
  it("says that it is healthy", async () => {
    await using server = await openGateway();
    expect(JSON.parse((await ask(server, { path: "/health" })).text)).toEqual({ status: "ok" });
  });

  it("tells what the host enforces", async () => {
    await using server = await openGateway();
    expect(JSON.parse((await ask(server, { path: "/v1/doctor" })).text)).toEqual(ISOLATION);
  });

  it("names the error, and the request that failed", async () => {
    await using server = await openGateway();
    const answer = await ask(server, { path: "/v1/sandboxes/aaaaaaaa/usage" });
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toEqual({
      error: { code: "SANDBOX_NOT_FOUND", message: expect.any(String), retryable: false, requestId: expect.any(String) },
    });
  });

  it("logs a bug under the request id, which is all that it tells", async () => {
    await using server = await openGateway({ isolation: () => Promise.reject(new TypeError("a secret detail")) });
    const answer = await ask(server, { path: "/v1/doctor" });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("a secret detail");
    const { error } = JSON.parse(answer.text) as { error: { code: string; requestId: string } };
    expect(error.code).toBe("INTERNAL");
    expect(server.logged).toMatchObject([{ requestId: error.requestId, err: { message: "a secret detail" } }]);
  });

  it("names every bad field", async () => {
    await using server = await openGateway();
    const body = JSON.stringify({ timeoutMs: -1, workspace: { path: "relative", mode: "copy" } });
    const answer = await ask(server, { method: "POST", path: "/v1/sandboxes", headers: JSON_TYPE, body });
    const { error } = JSON.parse(answer.text) as { error: { code: string; message: string } };
    expect(error.code).toBe("ARGUMENTS_INVALID");
    expect(error.message).toMatch(/workspace\.path: .*; timeoutMs: /);
  });

  it("shows no host folder to a client, who may be any user of this machine", async () => {
    await using server = await openGateway();
    const body = JSON.stringify({ workspace: { path: "/", mode: "rw" } });
    for (const path of ["/v1/sandboxes", "/v1/default-sandboxes/project"]) {
      const answer = await ask(server, { method: "POST", path, headers: JSON_TYPE, body });
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: "FORBIDDEN" } });
    }
  });

  it("refuses a filter that it does not know", async () => {
    await using server = await openGateway();
    expect((await ask(server, { path: "/v1/sandboxes?owner=me" })).status).toBe(400);
    expect((await ask(server, { path: "/v1/sandboxes?state=running&state=ended&metadata.team=a" })).status).toBe(200);
  });

  it("knows no other routes", async () => {
    await using server = await openGateway();
    for (const path of ["/nowhere", "/v1/%zz", `/v1/sandboxes/${"a".repeat(1_000)}`]) {
      const answer = await ask(server, { path });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: "ROUTE_NOT_FOUND", requestId: expect.any(String) } });
    }
  });
});

it("refuses to listen on an address that others reach", async () => {
  for (const host of ["0.0.0.0", "::", "192.0.2.1", "example.org"]) {
    await expect(openGateway({ host })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  }
});

it("serves clients that ask for HTTP/2 with each request, bodies and all", async () => {
  await using server = await openGateway();
  const { hostname, port } = server.url;
  const socket = connect(Number(port), hostname);
  const asks = `Host: ${server.url.host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n`;
  const head = `POST /mcp HTTP/1.1\r\n${asks}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n`;
  socket.write(`GET /health HTTP/1.1\r\n${asks}\r\n`);
  const [health] = (await once(socket, "data")) as [Buffer];
  expect(String(health)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*\{"status":"ok"\}$/);
  socket.write(`${head}Content-Length: ${INITIALIZE.length}\r\n\r\n${INITIALIZE.slice(0, 10)}`);
  socket.write(INITIALIZE.slice(10));
  const [initialized] = (await once(socket, "data")) as [Buffer];
  expect(String(initialized)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  socket.destroy();
});
