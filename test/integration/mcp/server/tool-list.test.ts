import { PassThrough } from "node:stream";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { openMcpHttpServer } from "../../../support/mcp-http-server.ts";
import { createNoSandboxes } from "../../../support/no-sandboxes.ts";
import { createCatalog } from "../../../../src/catalog/catalog.ts";
import { fixedTools } from "../../../../src/catalog/tool-source.ts";
import { defineTool } from "../../../../src/catalog/tool.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { serveMcpStdio } from "../../../../src/mcp/server/stdio.ts";

const tools = Array.from({ length: 1_200 }, (_, index) =>
  defineTool({
    name: `tool_${index}`,
    title: `Tool ${index}`,
    description: `Holds a trap: "tools":[] and \n a line, and "ünïcode" ${index}`,
    toolset: "test",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({ text: z.string().optional() }),
    run: async () => ({ value: null, content: [] }),
  }),
);

function openCatalog() {
  return createCatalog({
    sources: [fixedTools(tools)],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
    scope: () => ({ toolsets: "all" }),
  });
}

async function openHttp(mode: "auto" | "legacy") {
  const catalog = openCatalog();
  const server = await openMcpHttpServer({ tools: catalog });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(server.url));
  return { catalog, client, server, [Symbol.asyncDispose]: () => client.close().then(() => server[Symbol.asyncDispose]()) };
}

async function openStdio(mode: "auto" | "legacy") {
  const catalog = openCatalog();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = serveMcpStdio({ tools: catalog, version: "1", caller: { principal: LOCAL }, input, output, onError: () => undefined });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StdioServerTransport(output, input));
  return { catalog, client, [Symbol.asyncDispose]: () => server.close() };
}

describe.each([
  ["http", "auto", openHttp],
  ["http", "legacy", openHttp],
  ["stdio", "auto", openStdio],
  ["stdio", "legacy", openStdio],
] as const)("over %s, version negotiation %s", (_transport, mode, open) => {
  it("the list holds what the catalog shows, page by page, whatever the texts are", async () => {
    await using one = await open(mode);
    const request = (cursor?: string) =>
      one.client.request(
        { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
        z.looseObject({ tools: z.array(z.unknown()) }),
      );
    const first = await request();
    expect(first.tools).toHaveLength(1_000);
    const second = await request(String(first["nextCursor"]));
    expect([...first.tools, ...second.tools]).toEqual(one.catalog.list(LOCAL));
    expect(second["nextCursor"]).toBeUndefined();
    expect(second["ttlMs"]).toBe(mode === "auto" ? 60_000 : undefined);
  });

  it("an unknown cursor is the caller's error", async () => {
    await using one = await open(mode);
    await expect(one.client.request({ method: "tools/list", params: { cursor: "nope" } }, z.looseObject({}))).rejects.toMatchObject({
      code: -32602,
    });
  });

  it("many lists at once are each whole", async () => {
    await using one = await open(mode);
    const lists = await Promise.all(
      Array.from({ length: 5 }, () =>
        one.client.request({ method: "tools/list", params: { cursor: "1" } }, z.looseObject({ tools: z.array(z.unknown()) })),
      ),
    );
    for (const list of lists) expect(list.tools).toHaveLength(200);
  });
});
