import { BelljarError, type ErrorCode } from "../../errors.ts";
import { errnoOf } from "../../files/file-error.ts";

/** What failed, without the host's path in it. */
const REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  FILE_NOT_FOUND: "it is not there",
  FILE_EXISTS: "there is something already",
  FILE_DENIED: "this server may not use it: it belongs to another user inside, or is closed. Use a sandbox",
  PATH_INVALID: "it, or what lies above it, is a link or no folder, or changes meanwhile",
  FILE_IO: "the disk of the host failed",
  DISK_FULL: "no space is left on the disk of the host",
  CANCELLED: "the upload was cut off",
};
const DENIED = ["EACCES", "EPERM"];
/** Of a link in the place of a file. */
const LINKED = ["ELOOP", "ENXIO"];

/** The error of the same kind for whoever names a path of a volume. What is said here itself stays. */
export function tellVolumeError(path: string, cause: unknown): unknown {
  const errno = errnoOf(cause instanceof BelljarError ? cause.cause : cause);
  if (!(cause instanceof BelljarError) && errno === undefined) return cause;
  const code = codeOf(cause, errno);
  const isOwn = cause instanceof BelljarError && cause.cause === undefined && !cause.message.includes("/");
  const reason = isOwn ? cause.message : (REASONS[code] ?? REASONS.FILE_IO);
  return new BelljarError(code, `${JSON.stringify(path.slice(0, 500))}: ${reason}`, { cause });
}

function codeOf(cause: unknown, errno: string | undefined): ErrorCode {
  if (errno !== undefined && DENIED.includes(errno)) return "FILE_DENIED";
  if (errno !== undefined && LINKED.includes(errno)) return "PATH_INVALID";
  return cause instanceof BelljarError ? cause.code : "FILE_IO";
}
