import { execFileSync } from "node:child_process";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { openProjectFolder } from "../support/project-folder.ts";

/** What programs keep in the home of their user. */
const KEEPS = [
  "npm config set fund=false",
  "git config --global user.name ada",
  "bash -ic 'history -s ls; history -w'",
  "python3 -c 'import os, readline; readline.write_history_file(os.path.expanduser(\"~/.python_history\"))'",
].join("\n");

async function openProject() {
  const [cli, folder] = await Promise.all([openCliHome(), openProjectFolder()]);
  return {
    cli,
    path: folder.path,
    create: async (mode = "") => (await cli.run(["sandbox", "create", "--workspace", `${folder.path}${mode}`])).stdout.trim(),
    async [Symbol.asyncDispose]() {
      await cli[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe("a project at its own path", () => {
  it.each(["", ":rw"])("gets nothing that programs keep in their home%s", async (mode) => {
    await using project = await openProject();
    const id = await project.create(mode);
    const made = await project.cli.run(["exec", id, "--", "sh", "-c", `${KEEPS}\nls -A ~; touch mine`]);
    expect(made.stdout.split("\n")).toEqual(expect.arrayContaining([".bash_history", ".gitconfig", ".npmrc", ".python_history"]));
    const there = { cwd: project.path };
    const diff = mode === ":rw" ? undefined : await project.cli.run(["diff", "--name-only"], there);
    expect(diff?.stdout).toBe(mode === ":rw" ? undefined : "mine\n");
    if (diff) await project.cli.run(["apply", "--yes"], there);
    expect(await readdir(project.path)).toEqual(["mine"]);
  });

  it("has the host's paths in what its programs print, and takes them back", async () => {
    await using project = await openProject();
    await writeFile(join(project.path, "fails.py"), "import os\nos.mkdir('/workspace/made')\nraise ValueError(os.getcwd())\n");
    const id = await project.create();
    const file = join(project.path, "fails.py");
    const { stderr } = await project.cli.run(["exec", id, "--", "python3", file]);
    expect(stderr).toContain(`File "${file}", line 3`);
    expect(stderr).toContain(`ValueError: ${project.path}\n`);
    expect(await project.cli.run(["diff", "--name-only"], { cwd: project.path })).toMatchObject({ stdout: "made\n" });
    expect((await project.cli.run(["run", "fails.py", "--workspace", "."], { cwd: project.path })).stderr).toContain(
      `File "${file}", line 3`,
    );
  });

  it("is reached by the person's spelling of its path, with links, which results have too", async () => {
    await using project = await openProject();
    await using other = await openProjectFolder();
    const spelled = join(other.path, "people/ada");
    await mkdir(join(project.path, "sub"));
    await mkdir(join(other.path, "people"));
    await symlink(project.path, spelled);
    const there = { cwd: spelled, env: { PWD: spelled } };
    const id = (await project.cli.run(["sandbox", "create", "--workspace", "."], there)).stdout.trim();
    const inside = async (...argv: string[]) => (await project.cli.run(["exec", id, "--", ...argv])).stdout;
    expect(await inside("sh", "-c", `pwd; pwd -P; readlink ${spelled}; cd sub; pwd; touch ${spelled}/made`)).toBe(
      `${spelled}\n${project.path}\n${project.path}\n${spelled}/sub\n`,
    );
    expect((await project.cli.run(["exec", "--cwd", "sub", id, "--", "sh", "-c", "pwd"])).stdout).toBe(`${spelled}/sub\n`);
    expect(await project.cli.run(["diff", "--name-only"], there)).toMatchObject({ stdout: "made\n" });
    await project.cli.run(["sandbox", "stop", id]);
    await project.cli.run(["sandbox", "start", id]);
    expect(await inside("sh", "-c", "pwd")).toBe(`${spelled}\n`);
    const elsewhere = { cwd: project.path, env: { PWD: other.path } };
    const plain = (await project.cli.run(["sandbox", "create", "--workspace", "."], elsewhere)).stdout.trim();
    expect((await project.cli.run(["exec", plain, "--", "sh", "-c", `pwd; ls -d ${other.path}`])).stdout).toBe(`${project.path}\n`);
  });

  it("is a repository for git", async () => {
    await using project = await openProject();
    const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@a", ...args], { cwd: project.path });
    git("init", "-q");
    await mkdir(join(project.path, "sub"));
    await writeFile(join(project.path, "sub/a"), "a\n");
    git("add", ".");
    git("commit", "-qm", "first");
    const id = await project.create();
    const { stdout } = await project.cli.run([
      "exec",
      id,
      "--",
      "sh",
      "-c",
      "echo b > sub/b; git status --short; git rev-parse --show-toplevel",
    ]);
    expect(stdout).toBe(`?? sub/b\n${project.path}\n`);
    await project.cli.run(["exec", id, "--", "sh", "-ec", "git add .; git -c user.name=a -c user.email=a@a commit -qm second"]);
    expect((await project.cli.run(["diff", "--stat"], { cwd: project.path })).stdout).toMatch(
      /^\+ 1 commit\(s\): apply brings them[^]*\n sub\/b \| 1 \+\n/,
    );
  });
});
