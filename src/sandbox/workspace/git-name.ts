/** Characters that some file systems leave out of a name. */
const IGNORED = /\u200c|\u200d|[\u200e\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Whether a file system might take this part of a path, given as bytes, for `.git`. */
export function isGitName(part: string): boolean {
  const name = Buffer.from(part, "latin1")
    .toString()
    .replace(IGNORED, "")
    .replace(/(?<![. ])[. ]+$/, "")
    .toLowerCase();
  return name === ".git" || name === "git~1";
}

/** Whether a path is a repository's own folder, or lies in one. */
export function isInGit(key: string): boolean {
  return key.split("/").some(isGitName);
}

/** What holds commits, branches and what is staged. */
const OWN = /^(?:config(?:\.worktree)?|hooks|info|description)$/;

/** Whether a path in a repository's folder is one that only git itself writes. */
export function isGitStore(key: string): boolean {
  const parts = key.split("/");
  const below = parts[parts.findIndex(isGitName) + 1];
  return below === undefined || !OWN.test(below);
}
