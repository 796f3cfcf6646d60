import { Client, SSEClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";
import { createGateway } from "../gateway.ts";

async function open(legacySse: boolean) {
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0, legacySse },
    sandboxes: createNoSandboxes(),
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("unused")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = await gateway.listen();
  return { url: new URL("/sse", url), [Symbol.asyncDispose]: () => gateway.close(0) };
}

it("serves an old client when it is asked to", async () => {
  await using server = await open(true);
  const client = new Client({ name: "old", version: "1" });
  await client.connect(new SSEClientTransport(server.url));
  expect(await client.callTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({ structuredContent: { text: "hi" } });
});

it("is not there unless it is asked for", async () => {
  await using server = await open(false);
  expect((await fetch(server.url)).status).toBe(404);
});

it("refuses a page of another site", async () => {
  await using server = await open(true);
  expect((await fetch(server.url, { headers: { origin: "https://evil.example" } })).status).toBe(403);
});
