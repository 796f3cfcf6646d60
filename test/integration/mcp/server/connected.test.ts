import { PassThrough } from "node:stream";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { expect, it } from "vitest";
import { createCatalog } from "../../../../src/catalog/catalog.ts";
import { serveMcpStdio } from "../../../../src/mcp/server/stdio.ts";
import type { Caller } from "../../../../src/catalog/caller.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { openMcpHttpServer } from "../../../support/mcp-http-server.ts";
import { createNoSandboxes } from "../../../support/no-sandboxes.ts";

const tools = createCatalog({
  sources: [],
  sandboxes: createNoSandboxes(),
  defaultSandbox: () => ({ name: "default", options: {} }),
});

/** Counts the clients that are connected. */
function counter() {
  let [count, connections] = [0, 0];
  let changed = (): void => undefined;
  return {
    count: () => count,
    connections: () => connections,
    connected: ({ defaultName }: Caller): Disposable => {
      expect(defaultName).toBe("default");
      connections += 1;
      count += 1;
      return { [Symbol.dispose]: () => ((count -= 1), changed()) };
    },
    none: () => new Promise<void>((resolve) => (changed = () => count === 0 && resolve())),
  };
}

it("knows a session over HTTP as connected until it ends", async () => {
  const { connected, count, none } = counter();
  await using server = await openMcpHttpServer({ tools, connected });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const transport = new StreamableHTTPClientTransport(server.url);
  await client.connect(transport);
  await client.listTools();
  expect(count()).toBeGreaterThan(0);
  const gone = none();
  await transport.terminateSession();
  await client.close();
  await gone;
  expect(server.errors).toEqual([]);
});

it("knows a client of today as connected while a request of it is open, such as a stream of changes", async () => {
  const { connected, connections, none } = counter();
  await using server = await openMcpHttpServer({ tools, connected });
  const gone = none();
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(server.url));
  expect(client.getProtocolEra()).toBe("modern");
  await client.listTools();
  await client.close();
  await gone;
  expect(connections()).toBeGreaterThan(0);
});

it.each(["auto", "legacy"] as const)("knows a host over stdio as connected until it closes its end (%s)", async (mode) => {
  const { connected, count } = counter();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const caller = { principal: LOCAL, defaultName: "default" };
  const served = serveMcpStdio({ tools, connected, caller, version: "1", onError: () => undefined, input, output });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StdioServerTransport(output, input));
  expect(count()).toBe(1);
  input.end();
  await served.closed;
  expect(count()).toBe(0);
});
