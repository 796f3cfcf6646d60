import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { ensurePrivateDirectory } from "../../config/private-directory.ts";
import type { OwnListeners } from "../../network/own-listeners.ts";
import { openOwnListeners } from "../../network/own-listeners.ts";

/** In the socket folder, which every process shares that can reach the same sandboxes. */
export function openListeners({ runtimeDirectory }: Config): OwnListeners {
  ensurePrivateDirectory(runtimeDirectory);
  return openOwnListeners(join(runtimeDirectory, "listeners"));
}
