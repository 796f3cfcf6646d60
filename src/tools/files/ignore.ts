import { parseGlob } from "./glob.ts";

const REMEMBERED_MAX = 10_000;

/** Whether a relative path, or a folder above it, matches one of the globs. */
export function createIgnore(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.flatMap((pattern) => parseGlob(pattern) ?? []);
  if (globs.length === 0) return () => false;
  const folders = new Map<string, boolean>();
  const isIgnored = (path: string): boolean => isFolderIgnored(path) || globs.some((glob) => glob.matches(path));

  function isFolderIgnored(path: string): boolean {
    const slash = path.lastIndexOf("/");
    if (slash < 0) return false;
    const folder = path.slice(0, slash);
    const known = folders.get(folder) ?? isIgnored(folder);
    if (folders.size >= REMEMBERED_MAX) folders.clear();
    folders.set(folder, known);
    return known;
  }
  return isIgnored;
}
