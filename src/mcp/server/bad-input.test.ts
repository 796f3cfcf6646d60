import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { openMcpHttpServer } from "../../../test/support/mcp-http-server.ts";

const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};
const ACCEPT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function open() {
  const probe = createCallProbe();
  const server = await openMcpHttpServer({ tools: probe.tools });
  return { probe, server, url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Raw text, so that what cannot be serialised can be sent. */
async function post(url: URL, body: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { method: "POST", headers: { ...ACCEPT, ...headers }, body });
  return { status: response.status, text: await response.text() };
}

function modernCall(url: URL, name: string, args: string): Promise<{ status: number; text: string }> {
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${args},"_meta":${JSON.stringify(META)}}}`;
  return post(url, body, { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name });
}

async function legacySession(url: URL): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const response = await fetch(url, {
    method: "POST",
    headers: ACCEPT,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  await response.text();
  return { "mcp-session-id": response.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
}

function legacyCall(url: URL, session: Record<string, string>, name: string, args: string): Promise<{ status: number; text: string }> {
  const body = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${args}}}`;
  return post(url, body, session);
}

describe.each(["modern", "legacy"] as const)("a %s client", (era) => {
  const openCall = async (url: URL): Promise<(name: string, args: string) => Promise<{ status: number; text: string }>> => {
    if (era === "modern") return (name, args) => modernCall(url, name, args);
    const session = await legacySession(url);
    return (name, args) => legacyCall(url, session, name, args);
  };
  const DEPTH = 250_000;

  it("gets an error for a megabyte of nested arguments, and the server serves on", async () => {
    await using server = await open();
    const call = await openCall(server.url);
    const nested = `{"text":${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}}`;
    const { status, text } = await call("echo", nested);
    expect([status, JSON.parse(text)]).toEqual([
      400,
      { jsonrpc: "2.0", id: null, error: { code: -32_600, message: expect.stringMatching(/nested deeper/) } },
    ]);
    expect((await call("echo", '{"text":"still here"}')).text).toContain("still here");
  });

  it.each([
    ["arguments that are no object", "[]"],
    ["a field of the wrong type", '{"text":{}}'],
    ["a missing field", "{}"],
    ["a field that there is not", '{"text":"a","other":1}'],
    ["a name that every object has", '{"__proto__":{"text":"a"},"constructor":1}'],
  ])("gets a clear error for %s", async (_what, args) => {
    await using server = await open();
    const { text } = await (await openCall(server.url))("echo", args);
    expect(text).toMatch(/ARGUMENTS_INVALID|-32602/);
    expect(server.server.errors).toEqual([]);
  });

  it.each(["no_such_tool", "__proto__", "x".repeat(5_000)])("gets an error of the protocol for a tool that there is not", async (name) => {
    await using server = await open();
    const { text } = await (await openCall(server.url))(name, "{}");
    expect(text).toContain("-32602");
  });
});

it.each(["[]", "null", '"text"', "5", '{"jsonrpc":"1.0"}', '{"jsonrpc":"2.0","id":{},"method":5}', "", "{"])(
  "answers the body %j with an error and no session",
  async (body) => {
    await using server = await open();
    const { status } = await post(server.url, body, {});
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  },
);

it("stops the work of a client that dies in the middle of a call", async () => {
  await using server = await open();
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "wait", arguments: {}, _meta: META },
  });
  const started = server.probe.started();
  const socket = connect(Number(server.url.port), "127.0.0.1");
  await once(socket, "connect");
  const head = [
    "POST /mcp HTTP/1.1",
    `host: ${server.url.host}`,
    ...Object.entries({ ...ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "wait" }).map((pair) =>
      pair.join(": "),
    ),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  await started;
  socket.resetAndDestroy();
  await server.probe.cleaned;
});

it("takes no more from a client that never reads than fits on the way, and serves the others", async () => {
  await using server = await open();
  const text = "x".repeat(1_000_000);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { text }, _meta: META } });
  const headers = { ...ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "echo", host: server.url.host };
  const head = Object.entries({ ...headers, "content-length": Buffer.byteLength(body) }).map((pair) => pair.join(": "));
  const request = `POST /mcp HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${body}`;
  const socket = connect(Number(server.url.port), "127.0.0.1");
  await once(socket, "connect");
  // Its end with requests under way is no clean one.
  socket.on("error", () => undefined);
  socket.pause();
  let taken = 0;
  const ASKED = 100;
  for (let asked = 0; asked < ASKED; asked += 1) socket.write(request, () => (taken += 1));
  for (let other = 0; other < 20; other += 1) expect((await modernCall(server.url, "echo", '{"text":"served"}')).text).toContain("served");
  expect(taken).toBeLessThan(ASKED);
  socket.destroy();
  expect((await modernCall(server.url, "echo", '{"text":"still here"}')).text).toContain("still here");
});
