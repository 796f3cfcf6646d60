import { randomBytes } from "node:crypto";
import { statfsSync, statSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { BelljarError } from "../errors.ts";
import { errnoOf } from "../files/file-error.ts";
import { replaceFileSync } from "../files/replace-file.ts";

const BYTES = 1_048_576;
const STEP_BYTES = 65_536;

/** A file that reserves disk space, shared by all processes of a home. When the disk is full, the audit shrinks it to write its lines. */
export class AuditReserve {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Restores the full size. Throws the errors of the file system, or `DISK_FULL`. */
  fill(): void {
    if (this.#size() >= BYTES) return;
    this.#assertRoom();
    // Random bytes cannot be compressed by the file system.
    replaceFileSync(this.#path, randomBytes(BYTES));
  }

  /** Gives a part of the space back to the disk. Returns false if nothing is left. */
  take(): boolean {
    const size = this.#size();
    if (size === 0) return false;
    truncateSync(this.#path, Math.max(0, size - STEP_BYTES));
    return true;
  }

  /** Checked first, because writing would briefly take the last space from all other processes. */
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
