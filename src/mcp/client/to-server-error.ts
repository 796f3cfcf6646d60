import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";

const CHARACTERS_MAX = 2000;
const CAUSES_MAX = 4;

/** The error of the table for what went wrong with a server. Its message names the server; what the server said is escaped and cut. */
export function toServerError(name: string, doing: string, cause: unknown): BelljarError {
  const own = ownError(cause);
  if (own) return own;
  const said = textOf(cause);
  const error = (code: ConstructorParameters<typeof BelljarError>[0], text: string): BelljarError =>
    new BelljarError(code, `The server "${name}" ${text}`, { cause });
  if (cause instanceof ProtocolError) return error("SERVER_REFUSED", `refused ${doing}: ${said} (${cause.code})`);
  const status = cause instanceof SdkHttpError ? cause.status : undefined;
  if (status === 401 || cause instanceof UnauthorizedError)
    return error("UNAUTHORIZED", 'wants a token: write one under headers, such as "Authorization": "Bearer ${TOKEN}"');
  if (status === 403 || cause instanceof InsufficientScopeError) return error("FORBIDDEN", `denies ${doing} to this token`);
  if (!(cause instanceof SdkError)) return error("SERVER_UNREACHABLE", `cannot be reached: ${reasonOf(cause)}`);
  if (cause.code === SdkErrorCode.RequestTimeout) return error("EXEC_TIMEOUT", `did not answer ${doing} in time`);
  if (cause.code === SdkErrorCode.InvalidResult || cause.code === SdkErrorCode.UnsupportedResultType)
    return error("SERVER_INCOMPATIBLE", `answered ${doing} with something else: ${said}`);
  return error("SERVER_UNREACHABLE", `cannot be reached: ${reasonOf(cause)}`);
}

/** What the innermost error says: those around it hide the operating system's. */
function reasonOf(cause: unknown, depth = 0): string {
  if (cause instanceof Error && cause.cause instanceof Error && depth < CAUSES_MAX) return reasonOf(cause.cause, depth + 1);
  return textOf(cause);
}

/** An error of several addresses has a code alone. */
function textOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : String(cause);
  return printable(text.slice(0, CHARACTERS_MAX));
}

/** The error of this side that the SDK's own stands for: it wraps what a probe of the era failed with. */
function ownError(cause: unknown, depth = 0): BelljarError | undefined {
  if (cause instanceof BelljarError) return cause;
  return cause instanceof Error && depth < CAUSES_MAX ? ownError(cause.cause, depth + 1) : undefined;
}
