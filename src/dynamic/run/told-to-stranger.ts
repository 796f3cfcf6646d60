import { BelljarError, type ErrorCode } from "../../errors.ts";

/** Of the caller and of this machine. Nothing else that a sandbox is refused for may name what only the tool's owner knows. */
const TOLD: ReadonlySet<ErrorCode> = new Set([
  "QUOTA_EXCEEDED",
  "FORBIDDEN",
  "LIMIT_UNENFORCEABLE",
  "DISK_FULL",
  "AUDIT_FAILED",
  "CANCELLED",
  "RUNTIME_UNAVAILABLE",
  "RUNTIME_FAILED",
]);

/** What a caller is told, who is not the owner, of a sandbox of a tool that could not be made. The cause is for the owner. */
export function toldToStranger(cause: unknown): unknown {
  if (!(cause instanceof BelljarError) || TOLD.has(cause.code)) return cause;
  const message = "This tool could not be started: ask whoever shares it, to whom `belljar tool logs` says why";
  return new BelljarError("TOOL_FAILED", message, { cause });
}
