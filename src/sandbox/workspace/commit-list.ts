const COUNT = /^([0-9]{1,9})\n$/;
const OBJECT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** What `git rev-list --count` says. Who says anything else, or nothing, has no commits. */
export function readCount(output: Buffer | undefined): number {
  return Number(COUNT.exec(output?.toString("latin1") ?? "")?.[1] ?? 0);
}

/** The names of the commits that `git rev-list` lists. Other lines are no arguments for git. */
export function readCommits(output: Buffer): readonly string[] {
  return output
    .toString("latin1")
    .split("\n")
    .filter((line) => OBJECT.test(line));
}

/** Names the commits of HEAD that are not among the known ones. Where git is asked, known ones may be missing. */
export function since(known: readonly string[]): readonly string[] {
  return ["--ignore-missing", "HEAD", ...(known.length > 0 ? ["--not", ...known] : [])];
}
