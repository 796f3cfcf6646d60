import { realpath } from "node:fs/promises";
import { normalize } from "node:path/posix";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import { assertWorkspaceGranted } from "../sandbox/grants.ts";
import type { Principal } from "../sandbox/sandbox.ts";

/**
 * The real path of a file or folder of the host that the caller may read: as the caller wrote it, and wherever its links lead. Undefined if it
 * is not there. Rejects with `FORBIDDEN` before anything is looked at that was not granted.
 */
export async function findGranted(path: string, principal: Principal): Promise<string | undefined> {
  if (normalize(path) !== path || path.includes("\0"))
    throw new BelljarError("ARGUMENTS_INVALID", "A path on the machine of the home has no `..`, no `.` and no empty part: write it out");
  if (principal.isAnybody)
    throw new BelljarError(
      "FORBIDDEN",
      `Every user of this machine reaches this server, so a caller without a token reads no file of the host: use a token with the scope workspace:${path}`,
    );
  assertWorkspaceGranted({ path, mode: "ro" }, principal);
  const real = await ifPresent(path, realpath(path));
  if (real !== undefined) assertWorkspaceGranted({ path: real, mode: "ro" }, principal);
  return real;
}
