import { expect, it } from "vitest";
import { endsAtGit, isGitStore, isInGit, withGitNames } from "./git-name.ts";

const key = (path: string) => Buffer.from(path).toString("latin1");

it.each([".git", "a/.git", ".git/config", "a/.GIT/b", "git~1/b", ".git. ./b", ".git ", "a/.g\u200cit", ".\ufeffgit/b", ".gi\u202et"])(
  "%j may be a repository's own folder to some file system",
  (path) => {
    expect(isInGit(key(path))).toBe(true);
  },
);

it.each(["git", "a.git", ".gitignore", ".git2/a", "x.git/config", ".github", "git~2", "a/.git_/b", ".g\u00efit"])("%j is none", (path) => {
  expect(isInGit(key(path))).toBe(false);
});

it("the last part of a path is told from those above it", () => {
  expect(["a/.git", ".git", "GIT~1", ".git/a", "a"].map(endsAtGit)).toEqual([true, true, true, false, false]);
});

it.each(["config", "config.worktree", "hooks", "hooks/pre-commit", "info/exclude", "description"])(
  "%s of a repository is its own",
  (path) => {
    expect([isGitStore(`a/.git/${path}`), isGitStore(`.GIT/${path}`)]).toEqual([false, false]);
  },
);

it.each(["", "/HEAD", "/objects/aa/bb", "/refs", "/configs", "/hooksx/a", "/a/config", "/descriptions"])(
  "of a repository only git writes .git%s",
  (path) => {
    expect(isGitStore(`.git${path}`)).toBe(true);
  },
);

it("all such names are spelled in one way", () => {
  expect(withGitNames("a/.GIT./hooks/git~1")).toBe("a/.git/hooks/.git");
  expect(withGitNames(key("\u200c.git/\u00e4"))).toBe(".git/\u00e4");
});
