import { randomBytes } from "node:crypto";
import { statfsSync, statSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { BelljarError } from "../errors.ts";
import { errnoOf } from "../files/file-error.ts";
import { replaceFileSync } from "../files/replace-file.ts";

const BYTES = 1_048_576;
const STEP_BYTES = 65_536;

/** Room on the disk that the audit gives back to it when it is full, for the lines of what still runs then. All processes of a home share it. */
export class AuditReserve {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Makes it whole again where it is not. Throws what the file system does, as when the disk is full. */
  fill(): void {
    if (this.#size() >= BYTES) return;
    this.#assertRoom();
    // No file system stores random bytes in less room.
    replaceFileSync(this.#path, randomBytes(BYTES));
  }

  /** Gives a part of it to the disk; false when nothing is left. */
  take(): boolean {
    const size = this.#size();
    if (size === 0) return false;
    truncateSync(this.#path, Math.max(0, size - STEP_BYTES));
    return true;
  }

  /** Trying would take the last room from everybody else for a moment. */
  #assertRoom(): void {
    const folder = dirname(this.#path);
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < 2 * BYTES) throw new BelljarError("DISK_FULL", `No space is left in ${folder}: free some on that file system`);
  }

  #size(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }
}

export function isDiskFull(cause: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "DISK_FULL"].includes(errnoOf(cause) ?? "");
}
