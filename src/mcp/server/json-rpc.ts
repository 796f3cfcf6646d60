import type { ServerResponse } from "node:http";
import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { isJSONRPCRequest } from "@modelcontextprotocol/server";

/** Whether a message is a valid request of this method. The method is compared first, because the SDK checks the whole message. */
export function isRequestOf(message: unknown, method: string): message is JSONRPCRequest {
  return (message as { readonly method?: unknown } | null | undefined)?.method === method && isJSONRPCRequest(message);
}

/** Answers outside any request: what could not be read or routed has no id. */
export function sendJsonRpcError(
  response: ServerResponse,
  status: number,
  error: { readonly code: number; readonly message: string },
): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(jsonRpcError(error));
}

export function jsonRpcError(error: { readonly code: number; readonly message: string }): string {
  return JSON.stringify({ jsonrpc: "2.0", error, id: null });
}

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INTERNAL_ERROR = -32_603;
/** Servers' own range; SDK servers use these two for a refused request and for an unknown session. */
export const REQUEST_REFUSED = -32_000;
export const SESSION_UNKNOWN = -32_001;
