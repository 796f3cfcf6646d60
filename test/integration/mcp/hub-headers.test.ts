import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { openHubLab } from "../../support/hub-lab.ts";

const region = { type: "string", "x-mcp-header": "Region" } as const;
const regions = { type: "object", "x-mcp-header": "Region" } as const;

/** A server over HTTP, of the newer era, that wants an argument as a header too. It gives the headers of the calls that it got. */
async function openRegional() {
  const sent: unknown[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "far", version: "1" });
    server.registerTool("move", { inputSchema: fromJsonSchema({ type: "object", properties: { region } }) }, async () => ({ content: [] }));
    server.registerTool("wrong", { inputSchema: fromJsonSchema({ type: "object", properties: { region: regions } }) }, async () => ({
      content: [],
    }));
    return server;
  });
  const node = toNodeHandler(handler);
  const server = createServer((request, response) => {
    if (request.headers["mcp-method"] === "tools/call") sent.push(request.headers["mcp-param-region"]);
    void node(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    sent,
    async [Symbol.asyncDispose]() {
      await handler.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

it("sends arguments as headers, whichever client calls, and leaves out a tool whose headers are declared wrongly", async () => {
  await using far = await openRegional();
  await using lab = await openHubLab({ far: { type: "http", url: far.url } });
  await lab.until(() => lab.names().length > 0);
  expect(lab.names()).toEqual(["mcp_far_move"]);
  expect(lab.problems).toEqual([expect.stringMatching(/"far" has a tool "wrong" that is left out: x-mcp-header of "region"/)]);
  for (const clientId of ["first", "second", "third"]) await lab.call("mcp_far_move", { region: "eu" }, { clientId });
  expect(far.sent).toEqual(["eu", "eu", "eu"]);
}, 60_000);
