import { expect, it } from "vitest";
import { endsAtGit, isGitStore, isInGit, withGitNames } from "./git-name.ts";

const toKey = (path: string): string => Buffer.from(path).toString("latin1");

it("knows each spelling that a file system takes for .git", () => {
  for (const path of [".git", ".GIT", "a/.Git", "a/.git. . /b", "GIT~1/x", ".g\u200cit", "a/.gi\u202et/b", ".git\ufeff/x"])
    expect(isInGit(toKey(path)), path).toBe(true);
  for (const path of [".gitignore", "a.git", "x/.git2", "git", ".git\n", "git~2", " .git", "a/.git_/b", "\xff.git"])
    expect(isInGit(path), path).toBe(false);
  expect([endsAtGit("a/.git "), endsAtGit(".git/a")]).toEqual([true, false]);
});

it("tells what only git writes from settings and hooks", () => {
  for (const path of [".git", ".git/HEAD", "a/.GIT/objects/config", ".git/configs"]) expect(isGitStore(path), path).toBe(true);
  for (const path of [".git/config", "a/git~1/hooks/pre-commit", ".git./config.worktree"]) expect(isGitStore(path), path).toBe(false);
});

it("spells them all alike", () => {
  expect(withGitNames("a/.GIT ./git~1/.git/b.git/.gitignore")).toBe("a/.git/.git/.git/b.git/.gitignore");
});
