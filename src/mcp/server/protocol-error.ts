import { randomUUID } from "node:crypto";
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { refusalOf } from "../../catalog/refusal.ts";
import { BelljarError } from "../../errors.ts";

/**
 * What a request that has no result answers. The error of another server passes as it is. The catalog makes results of all that a model can act on, so what is left is a name
 * that there is not, or our own fault: reported under a request id, which is all that the caller learns.
 */
export function toProtocolError(error: unknown, onError: (error: unknown, requestId: string) => void): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const refusal = refusalOf(error);
  if (refusal) return new ProtocolError(refusal.code, refusal.message, refusal.data);
  if (error instanceof BelljarError && error.code !== "INTERNAL") {
    const code = error.status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    return new ProtocolError(code, error.code === "TOOL_NOT_FOUND" ? error.message : `${error.code}: ${error.message}`);
  }
  const requestId = randomUUID();
  onError(error, requestId);
  return new ProtocolError(ProtocolErrorCode.InternalError, `Internal error; the server's log has it under ${requestId}`);
}

/** The same for what was asked for by its URI, whose absence has an answer of its own. */
export function toResourceError(error: unknown, uri: string, onError: (error: unknown, requestId: string) => void): ProtocolError {
  const isMissing = error instanceof BelljarError && error.code === "RESOURCE_NOT_FOUND";
  return isMissing ? new ResourceNotFoundError(uri) : toProtocolError(error, onError);
}
