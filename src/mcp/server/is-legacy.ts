import type { IncomingMessage } from "node:http";
import { classifyInboundRequest, PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/server";
import type { HttpExchange } from "./legacy-http.ts";

/** Whether the SDK leaves a request to the older revisions. */
export function isLegacy({ request, body }: Pick<HttpExchange, "request" | "body">): boolean {
  return !(request.method === "POST" && isEnveloped(body)) && classify(request, body) === "legacy";
}

/**
 * True for what a client of the newer era sends: a message in an envelope, which the SDK serves or refuses itself. The SDK is not asked,
 * because it checks the whole message, and checks it again when it serves it.
 */
function isEnveloped(body: unknown): boolean {
  if (!isFields(body) || body["method"] === "initialize") return false;
  const { params } = body;
  return isFields(params) && isFields(params["_meta"]) && PROTOCOL_VERSION_META_KEY in params["_meta"];
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function classify(request: IncomingMessage, body: unknown): string {
  return classifyInboundRequest({
    httpMethod: request.method ?? "",
    protocolVersionHeader: header(request, "mcp-protocol-version"),
    mcpMethodHeader: header(request, "mcp-method"),
    mcpNameHeader: header(request, "mcp-name"),
    body,
  }).kind;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
