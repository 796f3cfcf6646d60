import type { FSWatcher } from "node:fs";
import { watch } from "node:fs";
import { fileError } from "./file-error.ts";

export interface FolderEars {
  /** An entry of that name came, went or was changed. */
  readonly changed: (name: string) => unknown;
  readonly failed: (cause: Error) => void;
}

/** Watches the entries of a folder until it is closed. The folder must exist. The watch does not keep the process alive. */
export function watchFolder(folder: string, { changed, failed }: FolderEars): { close(): void } {
  let watcher: FSWatcher;
  try {
    watcher = watch(folder, { persistent: false });
  } catch (cause) {
    throw fileError(folder, cause);
  }
  watcher.on("change", (_event, name) => {
    if (typeof name === "string") changed(name);
  });
  watcher.on("error", failed);
  return watcher;
}
