import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.ts";
import { createBelljarResources } from "../../src/mcp/resources/belljar-resources.ts";
import { createCallProbe } from "../support/call-probe.ts";
import { converse, openEgressLab } from "../support/egress-lab.ts";
import { openFakeSandboxes } from "../support/fake-sandboxes.ts";
import { openMcpHttpServer } from "../support/mcp-http-server.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

it("a thousand sessions are served, and the oldest is forgotten for one more", async () => {
  await using server = await openMcpHttpServer({ tools: createCallProbe().tools });
  const post = async (message: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
    const answer = await fetch(server.url, { method: "POST", headers: { ...HEADERS, ...headers }, body: JSON.stringify(message) });
    await answer.arrayBuffer();
    return answer;
  };
  const open = async (): Promise<string> => (await post(INITIALIZE)).headers.get("mcp-session-id") ?? "";
  const ping = async (id: string): Promise<number> =>
    (await post({ jsonrpc: "2.0", id: 2, method: "ping" }, { "mcp-session-id": id })).status;
  const ids: string[] = [];
  for (let count = 0; count < 1_000; count += 1) ids.push(await open());
  const [first = "", second = ""] = ids;
  expect(await ping(first)).toBe(200);
  await open();
  expect([await ping(first), await ping(second)]).toEqual([200, 404]);
});

it("a client that follows more resources than are kept is refused, and none is forgotten", async () => {
  await using place = await openFakeSandboxes();
  const { sandboxes } = place;
  const tools = createCatalog({
    sources: [],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const resources = createBelljarResources({ sandboxes, catalog: tools, templates: async () => [], madeTemplates: async () => [] });
  await using server = await openMcpHttpServer({ tools, resources });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  await client.connect(new StreamableHTTPClientTransport(server.url));
  const follow = (name: string) => client.subscribeResource({ uri: `belljar://templates/${name}` });
  for (let batch = 0; batch < 50; batch += 1) await Promise.all(Array.from({ length: 20 }, (_, index) => follow(`t${20 * batch + index}`)));
  await expect(follow("more")).rejects.toThrow(/QUOTA_EXCEEDED: .*at most 1000/);
  await expect(follow("t5")).resolves.toBeDefined();
  await client.unsubscribeResource({ uri: "belljar://templates/t5" });
  await expect(follow("more")).resolves.toBeDefined();
  await client.close();
});

const GET = "GET http://bad.test/ HTTP/1.1\r\nHost: bad.test\r\nConnection: close\r\n\r\n";

it("a flood of 10,000 connections costs a line of the audit a second and no more connections than allowed", async () => {
  const sandbox = { connections: 10, connectionsPerSecond: 1000, bytesPerDay: 1e9 };
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, limits: { sandbox } });
  const held = await Promise.all(Array.from({ length: 10 }, () => lab.proxy()));
  for (const client of held) client.write("GET ");
  for (let batch = 0; batch < 100; batch++) {
    const flood = await Promise.all(Array.from({ length: 100 }, () => lab.proxy()));
    for (const client of flood) client.destroy();
  }
  expect(lab.records.length).toBeLessThan(200);
  expect(new Set(lab.records.map((row) => row.reason))).toEqual(new Set(["too-many-connections"]));
  expect(await converse(held[0] ?? (await lab.proxy()), GET.slice(4))).toContain("no-rule");
});
