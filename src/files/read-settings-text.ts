import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { BelljarError } from "../errors.ts";
import { errnoOf } from "./file-error.ts";

const MAX_BYTES = 16 * 1_048_576;

/**
 * The text of a settings file that a person or another program wrote, or undefined if there is none. Waits for nobody who would write to a
 * pipe. Rejects with `CONFIG_INVALID`, without the path, for what is no text file, or has over 16 MiB.
 */
export async function readSettingsText(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const info = await handle.stat();
    if (!info.isFile() || info.size > MAX_BYTES) throw invalid(`it is no file, or has over ${MAX_BYTES} bytes`);
    const content = await handle.readFile();
    if (isUtf8(content)) return content.toString();
    throw invalid("it is not UTF-8, and would be damaged");
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return undefined;
    throw cause instanceof BelljarError ? cause : invalid("check that this user may read it", cause);
  }
}

function invalid(problem: string, cause?: unknown): BelljarError {
  return new BelljarError("CONFIG_INVALID", problem, { cause });
}
