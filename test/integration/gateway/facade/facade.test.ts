import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCallProbe } from "../../../support/call-probe.ts";
import { fakeServers } from "../../../support/fake-servers.ts";
import { createNoSandboxes } from "../../../support/no-sandboxes.ts";
import { createSecretStore } from "../../../../src/secrets/create-secret-store.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import type { Principal } from "../../../../src/sandbox/sandbox.ts";
import { createTokenStore } from "../../../../src/gateway/auth/token-store.ts";
import { createGateway } from "../../../../src/gateway/gateway.ts";
import { createFacadeSettings } from "../../../../src/gateway/facade/facade-settings.ts";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "bj-facade-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const CREDENTIAL = { session_id: "abc123", user_api_key: "a-key-of-mine" };

async function openServer() {
  const tools = createCallProbe().tools;
  const settings = createFacadeSettings({ home });
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    secrets: undefined,
    tools,
    facade: { defaultSandbox: () => ({ name: "default", options: {} }), tools, settings },
    tokens: [createTokenStore(home)],
    mcpServers: fakeServers(),
    isolation: () => Promise.reject(new Error("Nobody asks")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = await gateway.listen();
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const init =
      body === undefined
        ? { headers }
        : { method: "POST", body: JSON.stringify(body), headers: { ...headers, "content-type": "application/json" } };
    const response = await fetch(new URL(path, url), init);
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
  };
  return { ask, settings, url, [Symbol.asyncDispose]: () => gateway.close(0) };
}

/** An outside tool server, well or not. */
async function openToolServer(status = 200) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`.trim());
    response.writeHead(status, { location: "http://127.0.0.1:1/" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, [Symbol.asyncDispose]: async () => void server.close() };
}

describe.each(["", "/mcp"])("tools over plain HTTP at %s/", (prefix) => {
  it("lists and calls tools before anything was set up", async () => {
    await using server = await openServer();
    const { answer } = await server.ask(`${prefix}/tools`);
    expect(answer["tools"]).toContainEqual(
      expect.objectContaining({ name: "echo", inputSchema: expect.objectContaining({ type: "object" }) }),
    );
    const called = await server.ask(`${prefix}/tools/call`, { name: "echo", arguments: { text: "hi" } });
    expect(called).toMatchObject({ status: 200, answer: { value: { text: "hi" }, content: [{ type: "text", text: '{"text":"hi"}' }] } });
  });

  it("answers what a model can act on as a result, and an unknown tool with 404", async () => {
    await using server = await openServer();
    expect(await server.ask(`${prefix}/tools/call`, { name: "echo", arguments: { text: 1 } })).toMatchObject({
      status: 200,
      answer: { isError: true },
    });
    expect(await server.ask(`${prefix}/tools/call`, { name: "none" })).toMatchObject({
      status: 404,
      answer: { error: { code: "TOOL_NOT_FOUND" } },
    });
    for (const body of [[], {}, { name: 1 }, { name: "echo", arguments: "x" }, { name: "echo", arguments: [] }]) {
      expect(await server.ask(`${prefix}/tools/call`, body)).toMatchObject({
        status: 400,
        answer: { error: { code: "ARGUMENTS_INVALID" } },
      });
    }
  });

  it("takes a credential and a tool server that is well", async () => {
    await using server = await openServer();
    await using outside = await openToolServer();
    const success = { status: 200, answer: { status: "success" } };
    expect(await server.ask(`${prefix}/credential`, CREDENTIAL)).toEqual(success);
    expect(await server.ask(`${prefix}/tool-server-url`, { tool_server_url: outside.url })).toEqual(success);
    expect(await server.settings.toolServer(LOCAL)).toEqual({ url: outside.url, credential: CREDENTIAL });
    // A probe tells nobody the credential.
    expect(outside.asked).toEqual(["GET /health"]);
  });

  it("keeps what it was told apart from the caller's secrets", async () => {
    await using server = await openServer();
    const secrets = createSecretStore({ home });
    await secrets.set(LOCAL.id, "openai", "a-key");
    await server.ask(`${prefix}/credential`, CREDENTIAL);
    const names = (await secrets.list(LOCAL.id)).map(({ name }) => name);
    expect(names).toEqual(["openai"]);
    const files = readdirSync(home, { recursive: true, encoding: "utf8" });
    const told = files.filter((file) => /tool-server/.test(file));
    expect(told).toHaveLength(1);
    expect(told.every((file) => file.startsWith("settings/"))).toBe(true);
  });

  it("adds the caller's MCP servers, and says of each whether it is served", async () => {
    await using server = await openServer();
    const servers = { "claude-code": { command: "npx", args: ["-y", "a-server"] } };
    expect(await server.ask(`${prefix}/custom-mcp`, { mcpServers: servers })).toEqual({
      status: 200,
      answer: { status: "success", servers: { "claude-code": { state: "ready", tools: [] } } },
    });
    for (const mcpServers of [undefined, [], { a: "npx" }, { a: null }])
      expect(await server.ask(`${prefix}/custom-mcp`, { mcpServers })).toMatchObject({ status: 400 });
  });
});

it("says of a body of REST what is missing and which fields there are, in no validator's words", async () => {
  await using server = await openServer();
  const { answer } = await server.ask("/v1/tools", { languag: "python", code: "x" });
  expect(answer).toMatchObject({
    error: {
      code: "ARGUMENTS_INVALID",
      message: expect.stringMatching(
        /^language: missing; expected "python" or .*; request: unknown: "languag"; expected .*language, code, name/,
      ),
    },
  });
});

describe("a route that takes no body", () => {
  const asked = (server: Awaited<ReturnType<typeof openServer>>, init: RequestInit) =>
    fetch(new URL("/register-codex", server.url), { method: "POST", ...init });

  it.each([
    ["without a type", {}],
    ["with a type alone", { headers: { "content-type": "application/json" } }],
    ["with an empty body", { headers: { "content-type": "application/json" }, body: "" }],
    ["with another type and nothing of it", { headers: { "content-type": "text/plain" }, body: "" }],
    ["with an object", { headers: { "content-type": "application/json" }, body: "{}" }],
  ])("is asked %s", async (_, init) => {
    await using server = await openServer();
    const answer = await asked(server, init);
    // It got as far as the sandbox, of which there is none here.
    expect(await answer.json()).toMatchObject({ error: { code: "SANDBOX_NOT_FOUND" } });
  });

  it.each([
    ["POST", "/register-codex", "POST /register-codex takes no body"],
    ["POST", "/v1/tools/x/publish", "POST /v1/tools/:name/publish takes no body: version is part of the query"],
    ["POST", "/v1/tools/x/test", "POST /v1/tools/:name/test takes no body: version is part of the query"],
    ["POST", "/v1/tools/x/versions/1/rollback", "POST /v1/tools/:name/versions/:version/rollback takes no body"],
    ["DELETE", "/v1/tools/x", "DELETE /v1/tools/:name takes no body"],
    ["POST", "/v1/sandboxes/x/stop", "POST /v1/sandboxes/:id/stop takes no body"],
  ])("refuses one whose fields nothing would read: %s %s", async (method, path, message) => {
    await using server = await openServer();
    const init = { method, headers: { "content-type": "application/json" }, body: '{"version":1}' };
    const answer = await fetch(new URL(path, server.url), init);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: "ARGUMENTS_INVALID", message: expect.stringContaining(message) } },
    ]);
  });

  it("refuses what a page of another site can send, with a body or without", async () => {
    await using server = await openServer();
    expect((await asked(server, { body: "{}" })).status).toBe(415);
    expect((await asked(server, { headers: { origin: "http://elsewhere.example" } })).status).toBe(403);
  });

  it("is the only one: elsewhere a body must come", async () => {
    await using server = await openServer();
    for (const path of ["/tools/call", "/credential", "/mcp"])
      expect(`${path} ${(await fetch(new URL(path, server.url), { method: "POST" })).status}`).toBe(`${path} 415`);
  });
});

describe("the credential", () => {
  it("must come first, and whole", async () => {
    await using server = await openServer();
    await using outside = await openToolServer();
    expect(await server.ask("/tool-server-url", { tool_server_url: outside.url })).toMatchObject({ status: 400 });
    for (const body of [{}, { user_api_key: "k" }, { session_id: "s" }, { user_api_key: "", session_id: "s" }]) {
      expect(await server.ask("/credential", body)).toMatchObject({ status: 400 });
    }
  });

  it("goes to no other server than that which it was given for", async () => {
    await using server = await openServer();
    await using first = await openToolServer();
    await using other = await openToolServer();
    await server.ask("/credential", CREDENTIAL);
    await server.ask("/tool-server-url", { tool_server_url: first.url });
    expect(await server.ask("/tool-server-url", { tool_server_url: other.url })).toMatchObject({ status: 400 });
    expect(other.asked).toEqual([]);
    expect(await server.settings.toolServer(LOCAL)).toMatchObject({ url: first.url });
    await server.ask("/credential", { ...CREDENTIAL, user_api_key: "another" });
    expect(await server.settings.toolServer(LOCAL)).toBeUndefined();
    expect(await server.ask("/tool-server-url", { tool_server_url: other.url })).toMatchObject({ status: 200 });
  });

  it("is each caller's own, and outlives the server", async () => {
    const { token } = await createTokenStore(home).create("ci", []);
    const ci: Principal = { id: "token:ci", name: "ci" };
    {
      await using server = await openServer();
      await server.ask("/credential", { ...CREDENTIAL, user_api_key: "of-ci" }, { authorization: `Bearer ${token}` });
      await server.ask("/credential", CREDENTIAL);
      await server.settings.setToolServer(ci, "https://tools.example.com");
    }
    await using again = await openServer();
    expect(await again.settings.toolServer(ci)).toMatchObject({ credential: { user_api_key: "of-ci" } });
    expect(await again.settings.toolServer(LOCAL)).toBeUndefined();
  });
});

describe("a tool server", () => {
  it("that is not well is refused with the reason", async () => {
    await using server = await openServer();
    await using unwell = await openToolServer(503);
    await using elsewhere = await openToolServer(302);
    await server.ask("/credential", CREDENTIAL);
    const cases = [
      [unwell.url, "503"],
      [elsewhere.url, "302"],
      ["http://127.0.0.1:9", "cannot be reached"],
      ["http://no-such-host.invalid", "cannot be found"],
    ] as const;
    for (const [url, reason] of cases) {
      const { status, answer } = await server.ask("/tool-server-url", { tool_server_url: url });
      expect([status, JSON.stringify(answer)]).toEqual([502, expect.stringContaining(reason)]);
    }
    for (const url of ["", "ftp://x", "javascript:1", 5])
      expect(await server.ask("/tool-server-url", { tool_server_url: url })).toMatchObject({ status: 400 });
    expect(await server.settings.toolServer(LOCAL)).toBeUndefined();
  });

  it("in this machine's own network can be named by its user alone", async () => {
    await using server = await openServer();
    await using inside = await openToolServer();
    const { token } = await createTokenStore(home).create("ci", []);
    const headers = { authorization: `Bearer ${token}` };
    await server.ask("/credential", CREDENTIAL, headers);
    expect(await server.ask("/tool-server-url", { tool_server_url: inside.url }, headers)).toMatchObject({ status: 403 });
    expect(inside.asked).toEqual([]);
  });
});
