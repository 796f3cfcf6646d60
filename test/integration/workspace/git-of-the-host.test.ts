import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fetchCommits } from "../../../src/sandbox/workspace/git-commits.ts";
import { CONFLICT, useMergeHome } from "../../support/merge-home.ts";

const { at, signal, open, diff, apply, repository } = useMergeHome();
const { onHost, inside } = at;

describe("commits made inside", () => {
  it("come to a branch of their own, and nothing else of the repository changes", async () => {
    onHost("a", "1\n");
    repository();
    const git = (...args: string[]) => execFileSync("git", args, { cwd: at.work, encoding: "utf8" });
    const head = git("rev-parse", "HEAD");
    const sandbox = await open();
    expect((await diff(sandbox)).commits).toBe(0);
    await inside(
      sandbox,
      "echo 2 > b; git add b; for n in 1 2; do git -c user.name=x -c user.email=x@x commit -q --allow-empty -m inside$n; done",
    );
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "mine"], { cwd: at.work });
    expect((await diff(sandbox)).commits).toBe(2);
    expect((await diff(sandbox, { paths: ["b"] })).commits).toBe(0);
    expect(await fetchCommits({ sandbox, hostPath: at.work, signal })).toEqual({ branch: `belljar/${sandbox.id}`, commits: 2 });
    expect(git("log", "--format=%s", `belljar/${sandbox.id}`)).toBe("inside2\ninside1\nstart\n");
    expect([git("rev-parse", "HEAD~1"), git("log", "-1", "--format=%s"), git("status", "--short")]).toEqual([head, "mine\n", ""]);
    expect((await diff(sandbox)).commits).toBe(0);
    expect(await fetchCommits({ sandbox, hostPath: at.work, signal })).toBeUndefined();
  });

  it("do not take the place of commits on that branch", async () => {
    onHost("a", "1\n");
    repository();
    const sandbox = await open();
    const commit = (name: string) => ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", name];
    execFileSync("git", ["checkout", "-q", "-b", `belljar/${sandbox.id}`], { cwd: at.work });
    execFileSync("git", commit("mine"), { cwd: at.work });
    execFileSync("git", ["checkout", "-q", "-"], { cwd: at.work });
    await inside(sandbox, "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m theirs");
    await expect(fetchCommits({ sandbox, hostPath: at.work, signal })).rejects.toThrow(CONFLICT);
    expect(execFileSync("git", ["log", "-1", "--format=%s", `belljar/${sandbox.id}`], { cwd: at.work, encoding: "utf8" })).toBe("mine\n");
  });
});

describe("what git of the host ignores", () => {
  it("is left out unless it is named or asked for", async () => {
    onHost(".gitignore", "node_modules/\n*.log\n");
    onHost("kept.log", "tracked\n");
    execFileSync("git", ["init", "-q"], { cwd: at.work });
    execFileSync("git", ["add", "-f", "-A"], { cwd: at.work });
    const sandbox = await open();
    await inside(sandbox, "mkdir -p node_modules/a; echo x > node_modules/a/b; echo x > new.log; echo more >> kept.log; echo x > src");
    const paths = async (wishes: Parameters<typeof diff>[1] = {}) => (await diff(sandbox, wishes)).changes.map(({ path }) => path);
    expect(await paths()).toEqual(["kept.log", "src"]);
    expect((await diff(sandbox)).ignored).toBe(2);
    expect(await paths({ ignored: true })).toEqual(["kept.log", "new.log", "node_modules", "node_modules/a", "node_modules/a/b", "src"]);
    expect(await paths({ paths: ["new.log"] })).toEqual(["new.log"]);
    await apply(sandbox);
    expect(readdirSync(at.work).toSorted()).toEqual([".git", ".gitignore", "kept.log", "src"]);
  });
});
