import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { Served } from "./servers.ts";
import { PASSING } from "./servers.ts";

/** Where E2B's clients look for it. */
const PORT = 50_005;
const PATH = "/mcp";
const CALL_MS = 24 * 60 * 60_000;

/** The tools of all servers, at one address, for whoever has the token. Rejects when the port cannot be had. */
export async function serve(all: readonly Served[], token: string): Promise<void> {
  const tools = collectTools(all);
  const handle = toNodeHandler(createMcpHandler(() => createGateway(tools)));
  const server = createServer((request, response) => {
    if ((request.url ?? "").split("?", 1)[0] !== PATH) return void response.writeHead(404).end();
    if (!isAllowed(request, token)) return void response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    void handle(request, response);
  });
  server.listen({ host: "127.0.0.1", port: PORT });
  await once(server, "listening");
}

type Tools = ReadonlyMap<string, { readonly tool: Tool; readonly server: Served; readonly ownName: string }>;

/** Of two tools with one name the later is named after its server too. */
function collectTools(all: readonly Served[]): Tools {
  const tools = new Map<string, { tool: Tool; server: Served; ownName: string }>();
  for (const server of all) {
    for (const tool of server.tools as readonly Tool[]) {
      const name = tools.has(tool.name) ? `${server.name.replaceAll(/[^A-Za-z0-9_-]+/g, "_")}_${tool.name}` : tool.name;
      tools.set(name, { tool: { ...tool, name }, server, ownName: tool.name });
    }
  }
  return tools;
}

function createGateway(tools: Tools): Server {
  const server = new Server({ name: "mcp-gateway", version: "1.0.0" }, { capabilities: { tools: {} }, jsonSchemaValidator: PASSING });
  server.setRequestHandler("tools/list", () => ({ tools: [...tools.values()].map(({ tool }) => tool) }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq: { signal } }) => {
    const found = tools.get(params.name);
    if (!found) return { isError: true, content: [{ type: "text", text: `There is no tool ${params.name}` }] };
    const wish = { name: found.ownName, ...(params.arguments && { arguments: params.arguments }) };
    return (await found.server.client.callTool(wish, { signal, timeout: CALL_MS })) as CallToolResult;
  });
  return server;
}

function isAllowed({ headers }: IncomingMessage, token: string): boolean {
  return timingSafeEqual(digest(headers.authorization ?? ""), digest(`Bearer ${token}`));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
