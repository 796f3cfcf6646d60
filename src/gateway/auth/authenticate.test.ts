import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";
import { createGateway } from "../gateway.ts";
import type { TokenStore } from "./token-store.ts";
import { createTokenStore } from "./token-store.ts";

let home: string;
let tokens: TokenStore;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-auth-"));
  tokens = createTokenStore(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function openGateway(host = "127.0.0.1") {
  const probe = createCallProbe();
  const gateway = createGateway({
    config: { host, port: 0 },
    sandboxes: createNoSandboxes(),
    tools: probe.tools,
    isolation: () => Promise.reject(new Error("Nobody asks")),
    tokens: [tokens],
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const { port } = await gateway.listen();
  return { probe, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => gateway.close(0) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("a server on loopback", () => {
  it("serves a caller without a token as the local user, and none with a wrong one", async () => {
    await using server = await openGateway();
    expect((await fetch(`${server.url}/v1/sandboxes`)).status).toBe(200);
    for (const authorization of ["Bearer x", "Bearer ", "Basic eDp5", "belljar", `Bearer belljar_${"a".repeat(10)}_${"A".repeat(43)}`]) {
      const response = await fetch(`${server.url}/v1/sandboxes`, { headers: { authorization } });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.json()).toMatchObject({ error: { code: "UNAUTHORIZED" } });
    }
  });

  it("calls tools in the name of the token's holder", async () => {
    await using server = await openGateway();
    const { token } = await tokens.create("ci", ["read-only"]);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server.url), { requestInit: { headers: bearer(token) } }));
    const started = server.probe.started();
    const cancel = new AbortController();
    const call = client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal });
    expect((await started).principal).toEqual({ id: "token:ci", name: "ci", grants: { readOnly: true } });
    cancel.abort();
    await expect(call).rejects.toThrow("abort");
    await client.close();
  });
});

describe("a server beyond loopback", () => {
  it("serves only holders of tokens, and says to everybody that it lives", async () => {
    await using server = await openGateway("0.0.0.0");
    const { id, token } = await tokens.create("ci", []);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    for (const path of ["/v1/sandboxes", "/v1/doctor", "/mcp", "/nowhere"]) expect((await fetch(server.url + path)).status).toBe(401);
    expect((await fetch(`${server.url}/v1/sandboxes`, { headers: bearer(token) })).status).toBe(200);
    await tokens.revoke(id);
    expect((await fetch(`${server.url}/v1/sandboxes`, { headers: bearer(token) })).status).toBe(401);
  });

  it("refuses a page of another name, whatever token it has", async () => {
    await using server = await openGateway("0.0.0.0");
    const { token } = await tokens.create("ci", []);
    const headers = { ...bearer(token), origin: "https://evil.example" };
    expect((await fetch(`${server.url}/v1/sandboxes`, { headers })).status).toBe(403);
  });
});

it("opens a session of an older revision to nobody but the token that made it", async () => {
  await using server = await openGateway();
  const [wide, narrow] = [(await tokens.create("ci", [])).token, (await tokens.create("ci", ["read-only"])).token];
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const initialize = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const opened = await fetch(`${server.url}/mcp`, { method: "POST", headers: { ...headers, ...bearer(wide) }, body: initialize });
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  await opened.text();
  const list = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  const ask = (token: string) =>
    fetch(`${server.url}/mcp`, { method: "POST", headers: { ...headers, ...session, ...bearer(token) }, body: list });
  expect((await ask(wide)).status).toBe(200);
  expect((await ask(narrow)).status).toBe(404);
});
