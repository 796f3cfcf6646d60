import { access, constants, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { BelljarError } from "../../errors.ts";

/**
 * The folder of WORKSPACE_DIR, without links; the home if nothing is named. Rejects with `CONFIG_INVALID` for one that is not there, is no folder,
 * or may not be entered and read by this user: commands would start somewhere else.
 */
export async function insideFolder(named: string | undefined): Promise<string> {
  const folder = resolve(named || homedir());
  try {
    if (!(await stat(folder)).isDirectory()) throw refuse(folder, "is no folder: name one");
    await access(folder, constants.R_OK | constants.X_OK);
    return await realpath(folder);
  } catch (cause) {
    throw cause instanceof BelljarError
      ? cause
      : refuse(folder, "is not there, or this user may not use it: make it, or name another one", cause);
  }
}

function refuse(folder: string, problem: string, cause?: unknown): BelljarError {
  return new BelljarError("CONFIG_INVALID", `The folder of WORKSPACE_DIR ${problem}: ${folder}`, { cause });
}
