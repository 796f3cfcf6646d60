import { BelljarError, type ErrorCode } from "../../errors.ts";
import { GUEST_ERROR } from "../../protocol/wire.ts";

const BY_CODE: Partial<Record<ErrorCode, number>> = {
  GUEST_VERSION: GUEST_ERROR.VERSION_MISMATCH,
  FILE_NOT_FOUND: GUEST_ERROR.NOT_FOUND,
  FILE_EXISTS: GUEST_ERROR.ALREADY_EXISTS,
  FILE_NOT_DIRECTORY: GUEST_ERROR.NOT_A_DIRECTORY,
  FILE_IS_DIRECTORY: GUEST_ERROR.IS_A_DIRECTORY,
  FILE_DENIED: GUEST_ERROR.PERMISSION_DENIED,
  PATH_INVALID: GUEST_ERROR.PATH_INVALID,
  USER_UNKNOWN: GUEST_ERROR.UNKNOWN_USER,
  NOT_SUPPORTED: GUEST_ERROR.NOT_SUPPORTED,
  PORT_TAKEN: GUEST_ERROR.ADDRESS_IN_USE,
  NETWORK_FAILED: GUEST_ERROR.CONNECTION_RESET,
  PROCESS_NOT_FOUND: GUEST_ERROR.NO_SUCH_PROCESS,
  COMMAND_NOT_FOUND: GUEST_ERROR.COMMAND_NOT_FOUND,
  COMMAND_NOT_EXECUTABLE: GUEST_ERROR.NOT_EXECUTABLE,
};

const BY_ERRNO: Record<string, number> = {
  ENOENT: GUEST_ERROR.NOT_FOUND,
  EEXIST: GUEST_ERROR.ALREADY_EXISTS,
  ENOTDIR: GUEST_ERROR.NOT_A_DIRECTORY,
  EISDIR: GUEST_ERROR.IS_A_DIRECTORY,
  EACCES: GUEST_ERROR.PERMISSION_DENIED,
  EPERM: GUEST_ERROR.PERMISSION_DENIED,
  ENOTEMPTY: GUEST_ERROR.DIRECTORY_NOT_EMPTY,
  ENOSPC: GUEST_ERROR.NO_SPACE,
  EDQUOT: GUEST_ERROR.NO_SPACE,
  ENAMETOOLONG: GUEST_ERROR.PATH_INVALID,
  ELOOP: GUEST_ERROR.PATH_INVALID,
  EINVAL: GUEST_ERROR.PATH_INVALID,
  ECONNREFUSED: GUEST_ERROR.CONNECTION_REFUSED,
  EADDRINUSE: GUEST_ERROR.ADDRESS_IN_USE,
  EADDRNOTAVAIL: GUEST_ERROR.NOT_SUPPORTED,
  ESRCH: GUEST_ERROR.NO_SUCH_PROCESS,
  EAGAIN: GUEST_ERROR.TOO_MANY,
};

/** An ERROR frame's payload. */
export function errorPayload(error: unknown): Buffer {
  const { number, errno, text } = describe(error);
  const header = Buffer.alloc(4);
  header.writeUInt16BE(number, 0);
  header.writeUInt16BE(errno, 2);
  return Buffer.concat([header, Buffer.from(text)]);
}

function describe(error: unknown): { number: number; errno: number; text: string } {
  if (error instanceof BelljarError) return { number: BY_CODE[error.code] ?? GUEST_ERROR.BAD_REQUEST, errno: 0, text: error.message };
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    const errno = "errno" in error && typeof error.errno === "number" ? Math.abs(error.errno) : 0;
    return { number: BY_ERRNO[error.code] ?? GUEST_ERROR.IO, errno: errno & 0xffff, text: error.message };
  }
  return { number: GUEST_ERROR.IO, errno: 0, text: String(error) };
}
