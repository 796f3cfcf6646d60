import { randomUUID } from "node:crypto";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { BelljarError } from "../../errors.ts";

/**
 * What a call that has no result answers. The catalog makes results of all that a model can act on, so what is left is an
 * unknown tool, or our own fault: reported under a request id, which is all that the caller learns.
 */
export function toProtocolError(error: unknown, onError: (error: unknown, requestId: string) => void): ProtocolError {
  if (error instanceof BelljarError && error.code === "TOOL_NOT_FOUND") {
    return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  }
  const requestId = randomUUID();
  onError(error, requestId);
  return new ProtocolError(ProtocolErrorCode.InternalError, `Internal error; the server's log has it under ${requestId}`);
}
