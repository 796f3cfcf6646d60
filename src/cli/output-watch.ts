import type { Writable } from "node:stream";
import { BelljarError } from "../errors.ts";

export interface OutputWatch {
  /** Undefined as long as all output arrived, and if its reader has gone (`head`). */
  failure(): BelljarError | undefined;
  /** The failure in place of the stream's own error; any other error as it is. */
  explain(error: unknown): unknown;
}

/** Keeps the first error of stdout: the stream itself forgets it. An error that nobody else hears of ends no process. */
export function watchOutput(stdout: Writable): OutputWatch {
  let first: NodeJS.ErrnoException | undefined;
  stdout.on("error", (error: NodeJS.ErrnoException) => (first ??= error));
  const failure = () => (first === undefined || first.code === "EPIPE" ? undefined : outputFailed(first));
  return { failure, explain: (error) => (error === first ? (failure() ?? error) : error) };
}

function outputFailed(cause: NodeJS.ErrnoException): BelljarError {
  const isFull = cause.code === "ENOSPC" || cause.code === "EDQUOT";
  const why = isFull ? "the disk is full" : (cause.code ?? "unknown error");
  return new BelljarError(isFull ? "DISK_FULL" : "FILE_IO", `The output cannot be written (${why}): not all of it has arrived`, { cause });
}
