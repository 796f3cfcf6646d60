import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { ensurePrivateDirectory } from "../../config/private-directory.ts";
import type { OwnListeners } from "../../network/own-listeners.ts";
import { openOwnListeners } from "../../network/own-listeners.ts";

/** Opens the list of Belljar's own listeners, in the socket folder, which all processes of the same sandboxes share. */
export function openListeners({ runtimeDirectory }: Config): OwnListeners {
  ensurePrivateDirectory(runtimeDirectory);
  return openOwnListeners(join(runtimeDirectory, "listeners"));
}
