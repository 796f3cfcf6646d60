import { execFileSync } from "node:child_process";
import { chmod, cp, lstat, mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import { undoApply } from "../../src/sandbox/workspace/apply/undo-apply.ts";
import { fetchCommits } from "../../src/sandbox/workspace/git-commits.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { verifies } from "./verifies.ts";

const signal = AbortSignal.timeout(120_000);
const texts = createTestTexts();

async function inside(sandbox: Sandbox, script: string): Promise<void> {
  const { stderr, exitCode } = await sandbox.guest.run({ argv: ["bash", "-ec", script], timeoutMs: 30_000, signal });
  expect(stderr.toString()).toBe("");
  expect(exitCode).toBe(0);
}

/** A project that a sandbox may read, and a sandbox whose view of it is listed. */
async function openProject(files: Readonly<Record<string, string>>) {
  const lab = await openSecretLab();
  const project = join(dirname(lab.home), "project");
  const put = async (path: string, content: string): Promise<void> => {
    await mkdir(dirname(join(project, path)), { recursive: true });
    // As editors save.
    await writeFile(join(project, `${path}~`), content);
    await rename(join(project, `${path}~`), join(project, path));
  };
  for (const [path, content] of Object.entries(files)) await put(path, content);
  execFileSync("git", ["init", "-q"], { cwd: project });
  execFileSync("chmod", ["-R", "a+rwX", project]);
  const sandbox = await lab.sandbox({ workspace: { path: project, mode: "copy" } });
  expect(await sandbox.workspaceBase([])).toMatchObject({ isComplete: true });
  const { home } = lab;
  return {
    project,
    sandbox,
    put,
    read: (path: string) => readFile(join(project, path), "utf8"),
    home,
    diff: (paths: readonly string[] = []) => diffWorkspace(sandbox, { home, texts, signal, paths }),
    async apply(paths: readonly string[] = []) {
      const diff = await diffWorkspace(sandbox, { home, texts, signal, paths });
      await applyWorkspace(sandbox, diff, { home, signal });
      return diff;
    },
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
    },
  };
}

verifies(
  "apply-loses-nothing",
  async () => {
    const before = { both: "1\n2\n3\n4\n5\n", same: "1\n", gone: "1\n", seen: "1\n", "folder/kept": "1\n" };
    await using project = await openProject(before);
    const { sandbox, put, read } = project;
    // The names that the sandbox looked for, and the files that it read, are those that it sees from here on.
    await inside(sandbox, "cat seen; test ! -e new; sed -i s/2/two/ both; echo theirs > same; rm gone; rm -r folder; echo theirs > added");
    await put("both", "1\n2\n3\n4\nfive\n");
    for (const path of ["same", "gone", "seen", "new", "added", "folder/kept", "folder/new"]) await put(path, "mine\n");

    // What the sandbox has in place of the folder would lose all of that.
    const copied = join(dirname(project.home), "copied");
    await cp(project.project, copied, { recursive: true });
    const theirs = await sandbox.guest.run({ argv: ["tar", "-c", "--exclude=.git", "."], maxOutputBytes: 1_000_000, signal });
    execFileSync("tar", ["-x", "--overwrite", "-C", copied], { input: theirs.stdout });
    expect(await readFile(join(copied, "same"), "utf8")).toBe("theirs\n");

    const { conflicts, changes } = await project.apply();
    expect(changes.map(({ path }) => path)).toEqual(["both"]);
    expect(conflicts.map(({ change }) => change.path)).toEqual(["added", "folder/kept", "gone", "same"]);
    expect(await read("both")).toBe("1\ntwo\n3\n4\nfive\n");
    for (const path of ["same", "gone", "seen", "new", "added", "folder/kept", "folder/new"]) expect(await read(path)).toBe("mine\n");
    await undoApply(project.project, project.home);
    expect(await read("both")).toBe("1\n2\n3\n4\nfive\n");
  },
  180_000,
);

verifies(
  "apply-asks-for-programs",
  async () => {
    await using project = await openProject({ "package.json": '{"scripts":{"test":"true"}}', "bom/a": "1\n", a: "1\n" });
    const { project: folder, sandbox } = project;
    const config = await project.read(".git/config");
    const ran = join(dirname(project.home), "ran");
    await inside(
      sandbox,
      `mkdir -p .git/hooks .GIT .vscode .github/workflows .husky; printf '#!/bin/sh\\ntouch ${ran}\\n' > .git/hooks/post-checkout
       chmod 755 .git/hooks/post-checkout; cp .git/hooks/post-checkout .husky/pre-commit; printf '[core]\\n\\tfsmonitor = touch ${ran}\\n' > .git/config
       cp .git/config .GIT/config; echo ref: refs/heads/theirs > .git/HEAD; echo '{}' > .vscode/tasks.json; echo 'on: push' > .github/workflows/x.yml
       echo 'touch ${ran}' > .envrc; echo '{"scripts":{"test":"true","postinstall":"touch ${ran}"}}' > package.json; echo 2 >> a; ln -s hooks .idea
       echo '{"targets":[{"target_name":"<!(touch ${ran})"}]}' > binding.gyp; printf '\\357\\273\\277{"scripts":{"install":"touch ${ran}"}}' > bom/package.json
       echo '{"scripts":{"install":"touch ${ran}"}},' > bom/Package.json`,
    );
    const attack = join(dirname(project.home), "attack");
    await cp(folder, attack, { recursive: true });
    execFileSync("tar", ["-x", "--no-same-owner", "-C", attack], {
      input: (await sandbox.guest.run({ argv: ["tar", "-c", ".git/config"], signal })).stdout,
    });
    execFileSync("git", ["status"], { cwd: attack, stdio: "ignore" });
    expect((await lstat(ran)).isFile()).toBe(true);
    execFileSync("rm", [ran]);

    const { changes, held } = await project.apply();
    expect(changes.map(({ path }) => path)).toEqual([".github", ".github/workflows", ".husky", ".vscode", "a"]);
    expect(held.map(({ change }) => change.path)).toEqual([
      ".envrc",
      ".git/config",
      ".git/hooks/post-checkout",
      ".github/workflows/x.yml",
      ".husky/pre-commit",
      ".idea",
      ".vscode/tasks.json",
      "binding.gyp",
      "bom/Package.json",
      "bom/package.json",
      "package.json",
    ]);
    expect([await project.read(".git/config"), await project.read("package.json")]).toEqual([config, '{"scripts":{"test":"true"}}']);
    expect((await readdir(folder)).filter((name) => name === ".GIT")).toEqual([]);
    execFileSync("git", ["status"], { cwd: folder, stdio: "ignore" });
    await expect(lstat(ran)).rejects.toThrow("ENOENT");

    await project.apply([".git", ".envrc", "package.json", "*.json"]);
    expect(await project.read("package.json")).toContain("postinstall");
    expect(await project.read(".git/config")).toContain("fsmonitor");
    expect(await project.read(".git/HEAD")).not.toContain("theirs");
    await chmod(join(folder, ".git/config"), 0o600);

    // What was judged is what is written, also where no text is shown: the sandbox changes a file and keeps its size and time.
    await inside(
      sandbox,
      `mkdir big; { printf '{"scripts":{"install":"true"},"a":"'; head -c 600000 /dev/zero | tr '\\0' x; printf '"}'; } > big/package.json`,
    );
    await project.apply(["big"]);
    await inside(sandbox, `sed -i 's/"a":"x/"a":"y/' big/package.json`);
    const judged = await project.diff();
    expect(judged.changes.map(({ path }) => path)).toEqual(["big/package.json"]);
    const seen = await sandbox.guest.files.stat("/workspace/big/package.json", { signal });
    await inside(
      sandbox,
      `cp -p big/package.json /tmp/was; sed -i 's/"true"/"ls ."/' big/package.json; touch -r /tmp/was big/package.json`,
    );
    expect(await sandbox.guest.files.stat("/workspace/big/package.json", { signal })).toMatchObject({
      size: seen.size,
      mtimeNs: seen.mtimeNs,
    });
    const { home } = project;
    await expect(applyWorkspace(sandbox, judged, { home, signal })).rejects.toThrow(/Changed in the sandbox since the diff: big/);
    expect(await project.read("big/package.json")).toContain('"install":"true"');
  },
  180_000,
);

verifies(
  "commits-are-checked",
  async () => {
    await using project = await openProject({ a: "1\n" });
    const { project: folder, sandbox, home } = project;
    const [ran, asked, attack] = [join(dirname(home), "ran"), join(dirname(home), "asked"), join(dirname(home), "attack")];
    const git = (...args: string[]): string =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folder, encoding: "utf8", stdio: "pipe" });
    git("add", "a");
    git("commit", "-q", "-m", "start");
    execFileSync("chmod", ["-R", "a+rwX", folder]);
    await writeFile(join(folder, ".git/hooks/reference-transaction"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
    // A project that somebody else wrote borrows objects, and names a command that says which.
    const lender = join(dirname(home), "lender");
    execFileSync("git", ["clone", "-q", "--bare", folder, lender], { stdio: "pipe" });
    await writeFile(join(folder, ".git/objects/info/alternates"), `${join(lender, "objects")}\n`);
    git("config", "core.alternateRefsCommand", `touch ${asked}; true`);
    const fetching = () => fetchCommits({ sandbox, hostPath: folder, signal });
    const state = () => [git("for-each-ref"), git("ls-files", "-s"), git("config", "--local", "--list"), git("rev-parse", "HEAD")];
    const before = state();
    const identity =
      "export GIT_CONFIG_COUNT=4 GIT_CONFIG_KEY_{0,1,2,3} GIT_CONFIG_VALUE_{0,1,2,3}; GIT_CONFIG_KEY_3=core.hooksPath GIT_CONFIG_VALUE_3=/dev/null; GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1=x GIT_CONFIG_KEY_2=user.email GIT_CONFIG_VALUE_2=x@x;";

    // A tree that a case-insensitive file system would check out into the repository itself.
    await inside(
      sandbox,
      `${identity} rm .git/objects/info/alternates; blob=$(echo evil | git hash-object -w --stdin); inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
       tree=$(printf '040000 tree %s\\t.GIT\\n' $inner | git mktree); git update-ref HEAD $(git commit-tree -m evil -p HEAD $tree)
       git bundle create --quiet ../../tmp/bundle HEAD`,
    );
    await writeFile(attack, await sandbox.guest.files.read("/tmp/bundle", { signal }));
    await cp(folder, `${attack}-repository`, { recursive: true });
    execFileSync("git", ["fetch", "-q", attack, "HEAD:refs/heads/evil"], { cwd: `${attack}-repository`, stdio: "pipe" });
    expect(execFileSync("git", ["ls-tree", "-r", "--name-only", "evil"], { cwd: `${attack}-repository`, encoding: "utf8" })).toBe(
      ".GIT/config\n",
    );
    for (const path of [ran, asked]) expect((await lstat(path)).isFile()).toBe(true);
    execFileSync("rm", [ran, asked]);
    await expect(fetching()).rejects.toThrow(expect.objectContaining({ code: "WORKSPACE_CONFLICT" }) as Error);
    expect(state()).toEqual(before);

    // What is in order comes, beside settings that would run a program wherever they are read.
    await inside(
      sandbox,
      `${identity} git reset -q --hard ORIG_HEAD 2>/dev/null || git update-ref HEAD HEAD~1; echo 2 > b; git add b; git commit -q -m inside
       git config core.fsmonitor 'touch ${ran}'; git config core.sshCommand 'touch ${ran}'; git config core.hooksPath /tmp`,
    );
    expect((await project.diff()).commits).toBe(1);
    expect(await fetching()).toEqual({ branch: `belljar/${sandbox.id}`, commits: 1 });
    expect(git("log", "-1", "--format=%s", `belljar/${sandbox.id}`)).toBe("inside\n");
    for (const path of [ran, asked]) await expect(lstat(path)).rejects.toThrow("ENOENT");
    const [refs = "", ...rest] = state();
    expect([
      refs
        .split("\n")
        .filter((line) => !line.includes("belljar/"))
        .join("\n"),
      ...rest,
    ]).toEqual(before);
    expect((await project.diff()).commits).toBe(0);
  },
  180_000,
);
