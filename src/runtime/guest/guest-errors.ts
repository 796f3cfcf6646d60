import { BelljarError, type ErrorCode } from "../../errors.ts";
import { GUEST_ERROR } from "../../protocol/wire.ts";
import type { SandboxEnd } from "../contract/run.ts";

const MESSAGE_MAX_CHARACTERS = 1_000;

type Row = { readonly code: ErrorCode; readonly hint: string };

/** For each code of an ERROR frame: the code of the error table, and advice for the reader. */
const ROWS: Record<keyof typeof GUEST_ERROR, Row> = {
  BAD_REQUEST: { code: "GUEST_PROTOCOL", hint: "This is a fault of Belljar, or of a guest that was tampered with; make a new sandbox" },
  VERSION_MISMATCH: { code: "GUEST_VERSION", hint: "The sandbox was made by another release; make a new one" },
  NOT_FOUND: { code: "FILE_NOT_FOUND", hint: "Check the path; a relative one starts at the workspace, or without one at the home" },
  ALREADY_EXISTS: { code: "FILE_EXISTS", hint: "Choose another name, or allow it to be replaced" },
  NOT_A_DIRECTORY: { code: "FILE_NOT_DIRECTORY", hint: "Name a directory" },
  IS_A_DIRECTORY: { code: "FILE_IS_DIRECTORY", hint: "Name a file, or ask for the directory and all in it" },
  PERMISSION_DENIED: { code: "FILE_DENIED", hint: "This user may not do that in the sandbox; try a path below the home, or another user" },
  DIRECTORY_NOT_EMPTY: { code: "DIRECTORY_NOT_EMPTY", hint: "Empty it first, or remove it with all in it" },
  NO_SPACE: { code: "DISK_FULL", hint: "Remove files in the sandbox, or make one with a larger disk" },
  PATH_INVALID: { code: "PATH_INVALID", hint: "Use a shorter path without NUL bytes or a loop of links" },
  UNKNOWN_USER: { code: "USER_UNKNOWN", hint: "Use `user`, `root`, another name in the sandbox's /etc/passwd, or an id" },
  CONNECTION_REFUSED: { code: "PORT_REFUSED", hint: "Start the server inside the sandbox first, on 127.0.0.1 or on all addresses" },
  NOT_SUPPORTED: { code: "NOT_SUPPORTED", hint: "This sandbox cannot do it" },
  IO: { code: "FILE_IO", hint: "The sandbox's kernel refused it" },
  NO_SUCH_PROCESS: { code: "PROCESS_NOT_FOUND", hint: "It has ended already; list the processes" },
  COMMAND_NOT_FOUND: { code: "COMMAND_NOT_FOUND", hint: "Check the name and the sandbox's PATH" },
  NOT_EXECUTABLE: { code: "COMMAND_NOT_EXECUTABLE", hint: "Make it executable, or start it through its interpreter" },
  TOO_MANY: { code: "PROCESS_LIMIT", hint: "End processes in the sandbox, or make one with a higher limit" },
  ADDRESS_IN_USE: { code: "PORT_TAKEN", hint: "End the program inside that listens there" },
  CONNECTION_RESET: { code: "NETWORK_FAILED", hint: "The bytes that it had not read are lost" },
  NOT_STILL: {
    code: "SANDBOX_UNRESPONSIVE",
    hint: "Try again when less goes on in the sandbox; pause or stop it before, if that fails too",
  },
  UNAUTHORIZED: { code: "GUEST_UNAUTHORIZED", hint: "The sandbox has another secret; open it again" },
};

const ROW_BY_NUMBER = new Map<number, Row>(
  Object.entries(GUEST_ERROR).map(([name, number]) => [number, ROWS[name as keyof typeof GUEST_ERROR]]),
);

/** Turns an ERROR frame's payload into an error of the table. The guest's text is bounded and stripped of control characters. */
export function guestError(payload: Buffer): BelljarError {
  const number = payload.readUInt16BE(0);
  const row = ROW_BY_NUMBER.get(number) ?? {
    code: "GUEST_PROTOCOL",
    hint: `Unknown error ${number}; use one release of Belljar on both sides`,
  };
  const text = cleanText(payload.subarray(4, 4 + MESSAGE_MAX_CHARACTERS * 4));
  return new BelljarError(row.code, text ? `${text}. ${row.hint}` : row.hint);
}

function cleanText(bytes: Buffer): string {
  return bytes
    .toString()
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, MESSAGE_MAX_CHARACTERS)
    .replace(/\.$/, "");
}

const REASONS: Record<SandboxEnd["reason"], string> = {
  stopped: "it was stopped",
  killed: "it was killed",
  deadline: "its deadline passed",
  out_of_memory: "it ran out of memory",
  exited: "its first process exited",
  host_lost: "the process that made it is gone",
  keeper_lost: "its keeper is gone",
  create_failed: "it could not be created",
  expired: "it was kept stopped until its time was over",
  no_room: "it was stopped, and removed to make room for others",
  files_lost: "it was stopped, and its files are gone",
};

/** How a run ended, for whoever has streams of it. */
export interface RunEnd extends SandboxEnd {
  /** It ended because the sandbox is put back to an earlier state, and runs again after that. */
  readonly isRolledBack?: boolean;
}

export function sandboxEnded(end: RunEnd): BelljarError {
  if (end.isRolledBack)
    return new BelljarError(
      "SANDBOX_ROLLED_BACK",
      "The sandbox was rolled back, and its programs ended: look at its files, and call again",
    );
  if (end.kept)
    return new BelljarError(
      "SANDBOX_STOPPED",
      `The sandbox is stopped (${end.reason}): ${REASONS[end.reason]}. Its files are kept. Start it again; a tool that is called does so by itself`,
    );
  return new BelljarError(
    "SANDBOX_ENDED",
    `The sandbox has ended (${end.reason}): ${REASONS[end.reason]}. The next call of a tool tells what is left of a default sandbox; in place of another one, make a new one`,
  );
}

export function cancelled(signal?: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The call was cancelled before it was done", { cause: signal?.reason });
}

export function unresponsive(): BelljarError {
  return new BelljarError(
    "SANDBOX_UNRESPONSIVE",
    "The sandbox does not answer. It may still carry out the request. Try again; if it stays silent, kill it and make a new one",
  );
}

export function connectionLost(cause?: unknown): BelljarError {
  return new BelljarError("GUEST_PROTOCOL", "The connection to the sandbox was lost. Try again; if that fails too, make a new sandbox", {
    cause,
  });
}

/** Converts an error that a frame handler threw. An unknown error becomes `INTERNAL`. */
export function asBelljarError(error: unknown): BelljarError {
  if (error instanceof BelljarError) return error;
  return new BelljarError("INTERNAL", "A handler of the sandbox's output failed", { cause: error });
}
