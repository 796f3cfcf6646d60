import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { localhostHostValidation, localhostOriginValidation } from "@modelcontextprotocol/node";
import { createMcpHttp } from "../../src/mcp/server/http.ts";
import type { McpHttp, McpHttpOptions } from "../../src/mcp/server/http.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import type { Principal } from "../../src/sandbox/sandbox.ts";

export interface McpHttpServer extends AsyncDisposable {
  readonly url: URL;
  /** What the server reported as its own fault. */
  readonly errors: readonly unknown[];
}

/** The MCP server at `/mcp` of a plain HTTP server, and at `/sse` for old clients; who calls is read from the header `x-principal`. */
export async function openMcpHttpServer(options: Omit<McpHttpOptions, "version" | "onError">): Promise<McpHttpServer> {
  const errors: unknown[] = [];
  const mcp = createMcpHttp({ ...options, version: "1.2.3", onError: (error) => void errors.push(error) });
  const server = createServer((request, response) => {
    serve(mcp, request, response).catch((error: unknown) => {
      // A request that broke off has nobody who reads an answer.
      if (!request.errored) errors.push(error);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
    errors,
    [Symbol.asyncDispose]: () => close(mcp, server),
  };
}

const isOwnHost = localhostHostValidation();
const isOwnOrigin = localhostOriginValidation();

async function serve(mcp: McpHttp, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!isOwnHost(request, response) || !isOwnOrigin(request, response)) return;
  const body = request.method === "POST" ? parse(await text(request)) : undefined;
  const exchange = { request, response, body, caller: { principal: principalOf(request), defaultName: "default" } };
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/sse") return mcp.sse.open(exchange, "/messages");
  if (pathname === "/messages") return mcp.sse.deliver(exchange, searchParams.get("sessionId") ?? "");
  await mcp.handle(exchange);
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function principalOf({ headers }: IncomingMessage): Principal {
  const id = headers["x-principal"];
  return typeof id === "string" ? { id, name: id } : LOCAL;
}

async function close(mcp: McpHttp, server: Server): Promise<void> {
  await mcp.close(0);
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}
