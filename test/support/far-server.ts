import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

export interface FarServerOptions {
  /** Replaces the answer, as a hostile server would. True if it answered. */
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly host?: string;
  readonly port?: number;
}

/** An MCP server over HTTP of both eras, on loopback. */
export interface FarServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** `POST /mcp`, in their order. */
  readonly asked: readonly string[];
}

export async function openFarServer({ answer, host = "127.0.0.1", port = 0 }: FarServerOptions = {}): Promise<FarServer> {
  const asked: string[] = [];
  const mcp = toNodeHandler(createMcpHandler(buildServer));
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (answer?.(request, response)) return;
    void mcp(request, response);
  }).listen(port, host);
  await once(server, "listening");
  const own = (server.address() as AddressInfo).port;
  return {
    port: own,
    url: `http://${host}:${own}/mcp`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function buildServer(): McpServer {
  const server = new McpServer({ name: "far", version: "1" });
  const inputSchema = fromJsonSchema<{ text: string }>({ type: "object", properties: { text: { type: "string" } }, required: ["text"] });
  server.registerTool("echo", { inputSchema }, async ({ text: said }) => ({ content: [{ type: "text", text: said }] }));
  return server;
}
