import { BelljarError, type ErrorCode } from "../errors.ts";
import type { EndReason } from "../runtime/contract/run.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** Somebody else's sandbox and none are the same answer. */
export function unknown(id: string): BelljarError {
  return new BelljarError(
    "SANDBOX_NOT_FOUND",
    `No sandbox ${JSON.stringify(id.slice(0, 40))}: list yours with the tool sandbox, {"action":"list"}, or \`belljar sandbox list\``,
  );
}

export function nameTaken(name: string, { id }: SandboxRecord): BelljarError {
  return new BelljarError(
    "SANDBOX_NAME_TAKEN",
    `Sandbox ${id} has the name "${name}": choose another one, or end it with \`belljar sandbox kill ${id}\``,
  );
}

export function cancelled(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The sandbox was not made: the call was cancelled", { cause: signal.reason });
}

export function startCancelled({ id }: SandboxRecord, signal: AbortSignal): BelljarError {
  const text = `Sandbox ${id} was not started: the call was cancelled. If it is stopped, its files are kept, and the next call starts it`;
  return new BelljarError("CANCELLED", text, { cause: signal.reason });
}

export function ended(record: SandboxRecord, reason: EndReason): BelljarError {
  return new BelljarError("SANDBOX_ENDED", `Sandbox ${record.id} has ended (${reason}): create another one`);
}

export function stopped({ id }: SandboxRecord): BelljarError {
  return new BelljarError(
    "SANDBOX_STOPPED",
    `Sandbox ${id} is stopped, and its files are kept: start it with \`belljar sandbox start ${id}\``,
  );
}

/** Its processes have ended, and its files are there until the power is cut. */
export function unflushed({ id }: SandboxRecord, cause: unknown): BelljarError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BelljarError(
    "RUNTIME_FAILED",
    `Sandbox ${id} is stopped, but a power cut may still take its last files: ${why}. Look at the disk, and stop it again`,
    { cause },
  );
}

/** It neither answers nor is known to be dead: in the making, being started again, or being taken down. */
export function notReady(record: SandboxRecord): BelljarError {
  return new BelljarError("RUNTIME_UNAVAILABLE", `Sandbox ${record.id} is being created, started or removed: try again`);
}

/** Resolves with undefined if the files of the sandbox are gone. */
export function unlessLost<T>(work: Promise<T>): Promise<T | undefined> {
  return unless(work, "SANDBOX_FILES_LOST");
}

/** The same if the runtime cannot do it. */
export function unlessRefused<T>(work: Promise<T>): Promise<T | undefined> {
  return unless(work, "NOT_SUPPORTED");
}

async function unless<T>(work: Promise<T>, code: ErrorCode): Promise<T | undefined> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === code) return undefined;
    throw cause;
  }
}
