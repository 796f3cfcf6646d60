import { LIST_LEVELS_MAX, LIST_PATH_MAX } from "../../protocol/wire.ts";

/** What lies in such a folder is listed on neither side: guests do not enter it. */
export function isTooDeep(folder: string): boolean {
  return folder.length > LIST_PATH_MAX || countLevels(folder) >= LIST_LEVELS_MAX;
}

/** Why a folder that is too deep is left out. */
export function whyTooDeep(folder: string): string {
  if (folder.length > LIST_PATH_MAX) return `with all that lies in it: its path has more than ${LIST_PATH_MAX} bytes`;
  return `with all that lies in it: it lies ${LIST_LEVELS_MAX} levels deep`;
}

function countLevels(key: string): number {
  let levels = key === "" ? 0 : 1;
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) levels += 1;
  return levels;
}
