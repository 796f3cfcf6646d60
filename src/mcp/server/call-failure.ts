import { randomUUID } from "node:crypto";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { BelljarError } from "../../errors.ts";

/**
 * A foreseen failure becomes a tool result that the model can act on; an unknown tool and our own faults are JSON-RPC errors.
 * Our own faults are reported under a request id, which is all that the caller learns.
 */
export function toCallFailure(error: unknown, onError: (error: unknown, requestId: string) => void): CallToolResult {
  if (error instanceof BelljarError && error.code === "TOOL_NOT_FOUND") {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  }
  if (error instanceof BelljarError && error.code !== "INTERNAL") {
    return { isError: true, content: [{ type: "text", text: `${error.code}: ${error.message}` }] };
  }
  const requestId = randomUUID();
  onError(error, requestId);
  throw new ProtocolError(ProtocolErrorCode.InternalError, `Internal error; the server's log has it under ${requestId}`);
}
