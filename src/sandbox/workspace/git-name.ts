/** Characters that some file systems leave out of a name. */
const IGNORED = /\u200c|\u200d|[\u200e\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** A name that a file system might take for `.git`, as a part of a path. Windows leaves out dots and spaces at its end. */
const GIT_NAME = /(?:^|\/)(?:\.git|git~1)[. ]*(?=\/|$)/i;
/** What holds commits, branches and what is staged. */
const OWN = /^\/(?:config(?:\.worktree)?|hooks|info|description)(?:\/|$)/;

/** The folder of the repository at the top of a workspace. */
export const TOP_GIT = ".git";
/** Its folders in which nothing is that git runs or obeys by itself. */
export const GIT_STORES: readonly string[] = [
  ..."annex branches info lfs logs modules objects refs rr-cache worktrees".split(" "),
  ..."rebase-apply rebase-merge sequencer svn".split(" "),
];
const OBEYED = /^\.git\/(?:config|config\.worktree|hooks\/[^/]+)$/;

/** Whether git obeys or runs this file of that repository by itself. A change of such a file is shown also to who names nothing. */
export function isObeyedByGit(key: string): boolean {
  return OBEYED.test(key);
}

/** Whether a folder is that of this repository, or holds its hooks. */
export function holdsObeyed(key: string): boolean {
  return key === TOP_GIT || key === `${TOP_GIT}/hooks`;
}

/** Whether a path, given as bytes, is a repository's own folder, or lies in one. */
export function isInGit(key: string): boolean {
  return GIT_NAME.test(decode(key));
}

/** Whether the last part of a path is a name that a file system might take for `.git`. */
export function endsAtGit(key: string): boolean {
  return isInGit(key.slice(key.lastIndexOf("/") + 1));
}

/** Whether a path in a repository's folder is one that only git itself writes. */
export function isGitStore(key: string): boolean {
  const path = decode(key);
  const found = GIT_NAME.exec(path);
  return !OWN.test(found ? path.slice(found.index + found[0].length) : "");
}

/** The path with all such names spelled `.git`. */
export function withGitNames(key: string): string {
  return decode(key).replaceAll(new RegExp(GIT_NAME, "gi"), (name) => (name.startsWith("/") ? "/.git" : ".git"));
}

function decode(key: string): string {
  return Buffer.from(key, "latin1").toString().replace(IGNORED, "");
}
