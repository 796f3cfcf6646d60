import { parseGlob } from "./glob.ts";
import { GlobMatcher } from "./glob-matcher.ts";

/** Whether a relative path, or a folder above it, matches one of the globs. */
export function createIgnore(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.map(parseGlob).filter((glob) => glob !== undefined);
  if (globs.length === 0) return () => false;
  const matcher = new GlobMatcher(globs);
  // Entries of one folder mostly come one after the other: where its path led need not be found again.
  let known = { folder: "", state: matcher.start() };

  return (path) => {
    if (!path.startsWith(known.folder)) known = { folder: "", state: matcher.start() };
    const state = known.state.slice();
    let end = known.folder.length;
    for (const char of path.slice(end)) {
      if (char === "/" && matcher.isMatch(state)) return true;
      matcher.step(state, char);
      end += char.length;
      if (char === "/") known = { folder: path.slice(0, end), state: state.slice() };
    }
    return matcher.isMatch(state);
  };
}
