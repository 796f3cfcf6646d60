import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openHubGateway } from "../support/hub-gateway.ts";
import { hubServer, openHubLab } from "../support/hub-lab.ts";
import { openMcpHttpServer } from "../support/mcp-http-server.ts";
import { textOf } from "../support/tools-lab.ts";
import { verifies } from "./verifies.ts";

/** A server over HTTP that remembers all that it is sent. */
async function openRemembering() {
  const seen: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const answers: Readonly<Record<string, object>> = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {}, resources: {} }, serverInfo: { name: "far", version: "1" } },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "done" }] },
    "resources/list": { resources: [{ uri: "x://y", name: "y" }] },
    "resources/read": { contents: [{ uri: "x://y", text: "read" }] },
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push({ headers: request.headers, body });
      const { id, method = "" } = (body === "" ? {} : JSON.parse(body)) as { id?: number; method?: string };
      if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
      const result = answers[method];
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32_601, message: "no" } }) }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.dispose]: () => (server.closeAllConnections(), server.close()),
  };
}

const SECRET = "s3cret-of-the-caller";

/** Whichever era the caller speaks. */
verifies("hub-keeps-credentials", async () => {
  using far = await openRemembering();
  // Such a server sees whatever it is sent.
  await fetch(far.url, { method: "POST", headers: { "X-Api-Key": "seen" }, body: "" });
  expect(JSON.stringify(far.seen.splice(0))).toContain("seen");
  const entry = { type: "http", url: far.url, headers: { Authorization: "Bearer of-the-entry" } };
  await using lab = await openHubLab({ far: entry });
  await lab.until(() => lab.names().length > 0);
  await using server = await openMcpHttpServer({ tools: lab.catalog, ...lab.doors });
  for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const headers = {
      "x-principal": LOCAL.id,
      Authorization: `Bearer ${SECRET}`,
      Cookie: `session=${SECRET}`,
      "X-Api-Key": SECRET,
      "Mcp-Param-Key": SECRET,
      traceparent: `00-${SECRET}`,
    };
    await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit: { headers } }));
    await client.callTool({ name: "mcp_far_echo", arguments: {} });
    await client.readResource({ uri: "x://y" });
    await client.close();
  }
  const calls = far.seen.filter(({ body }) => /"(?:tools\/call|resources\/read)"/.test(body));
  expect(calls).toHaveLength(4);
  expect(calls.every(({ headers }) => headers.authorization === "Bearer of-the-entry")).toBe(true);
  expect(JSON.stringify(far.seen)).not.toContain(SECRET);
});

/** A proxy in front may judge by the headers alone. */
verifies("hub-keeps-credentials", async () => {
  using far = await openRemembering();
  await using lab = await openHubLab({ far: { type: "http", url: far.url } });
  await lab.until(() => lab.names().length > 0);
  await using gateway = await openHubGateway(lab);
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  };
  const call = async (method: string, name: string) => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "mcp_far_echo", arguments: {}, _meta: meta } };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": name,
    };
    const response = await fetch(gateway.url, { method: "POST", headers, body: JSON.stringify(body) });
    const { error } = (await response.json()) as { error?: { code: number } };
    return [response.status, error?.code];
  };
  expect(await call("tools/call", "mcp_far_echo")).toEqual([200, undefined]);
  const before = far.seen.length;
  expect(await call("tools/call", "mcp_far_other")).toEqual([400, -32_020]);
  expect(await call("resources/read", "mcp_far_echo")).toEqual([400, -32_020]);
  expect(far.seen).toHaveLength(before);
});

/** Two clients of one caller, and then two calls of one client. */
verifies("hub-tells-its-caller", async () => {
  await using lab = await openHubLab({ one: hubServer() });
  await lab.until(() => lab.names().length > 0);
  const asked: string[] = [];
  const askOf = (name: string) => async () => (asked.push(name), { action: "accept" as const, content: { which: name } });
  const controller = new AbortController();
  let begun = (): void => undefined;
  const hangs = new Promise<void>((resolve) => (begun = resolve));
  const hanging = lab.call("mcp_one_hang", {}, { clientId: "b", ask: askOf("b"), signal: controller.signal, progress: () => begun() });
  await hangs;
  expect(textOf(await lab.call("mcp_one_ask", {}, { clientId: "a", ask: askOf("a") }))).toContain('"which":"a"');
  expect(textOf(await lab.call("mcp_one_ask", {}, { clientId: "b", ask: askOf("b") }))).toContain("several calls at once");
  controller.abort();
  await hanging;
  expect(asked).toEqual(["a"]);
});
