import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

async function openProject() {
  const cli = await openCliHome();
  const project = join(cli.folder, "project");
  await mkdir(project);
  await writeFile(join(project, "notes.txt"), "one\n");
  const create = async (mode: string) => {
    const { stdout } = await cli.run(["sandbox", "create", "--workspace", `project${mode}`]);
    return stdout.trim();
  };
  return {
    cli,
    create,
    notes: () => readFile(join(project, "notes.txt"), "utf8"),
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  };
}

describe("a workspace", () => {
  it("is a copy that is shown and brought back when asked for", async () => {
    await using project = await openProject();
    const id = await project.create("");
    await project.cli.run(["exec", id, "--", "sh", "-c", "echo two >> notes.txt; echo new > more.txt"]);
    expect(await project.notes()).toBe("one\n");
    const diff = await project.cli.run(["sandbox", "diff", id]);
    expect(diff).toMatchObject({ code: 0, stdout: expect.stringMatching(/^A more\.txt\nM notes\.txt\n[^]*\+two/) });
    expect(await project.cli.run(["sandbox", "apply", id])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await project.cli.run(["sandbox", "apply", "--yes", id])).toMatchObject({ code: 0 });
    expect(await project.notes()).toBe("one\ntwo\n");
  });

  it("undoes no apply of another sandbox", async () => {
    await using project = await openProject();
    const first = await project.create("");
    await project.cli.run(["exec", first, "--", "sh", "-c", "echo first > first.txt"]);
    expect(await project.cli.run(["sandbox", "apply", "--yes", first])).toMatchObject({
      stderr: expect.stringContaining(`sandbox apply --undo ${first}`),
    });
    const folder = join(project.cli.folder, "project");
    await writeFile(join(project.cli.folder, "two.sh"), "echo two >> notes.txt");
    const { stderr } = await project.cli.run(["run", "two.sh", "--workspace", folder]);
    const [, second = ""] = /sandbox apply --undo ([a-z0-9]+)/.exec(stderr) ?? [];
    expect(await project.cli.run(["sandbox", "apply", "--undo", first])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`was of sandbox ${second}`),
    });
    expect(await project.notes()).toBe("one\ntwo\n");
    expect(await project.cli.run(["sandbox", "apply", "--undo", second])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("undid"),
    });
    expect(await project.notes()).toBe("one\n");
  });

  it("is found by its folder, from which paths are named", async () => {
    await using project = await openProject();
    const id = await project.create("");
    await project.cli.run(["exec", id, "--", "sh", "-c", "mkdir sub; echo two >> notes.txt; echo new > sub/more.txt"]);
    const there = { cwd: join(project.cli.folder, "project") };
    expect(await project.cli.run(["diff", "--name-only"], there)).toMatchObject({ code: 0, stdout: "notes.txt\nsub\nsub/more.txt\n" });
    expect(await project.cli.run(["apply", "--yes", "sub"], there)).toMatchObject({ code: 0 });
    expect(await project.notes()).toBe("one\n");
    expect(await project.cli.run(["apply", "--undo"], there)).toMatchObject({ code: 0 });
    expect(await project.cli.run(["apply", "--undo"], there)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Nothing is to be undone"),
    });
    const other = await project.create("");
    expect(await project.cli.run(["diff"], there)).toMatchObject({ code: 1, stderr: expect.stringContaining("2 sandboxes have a copy") });
    expect(await project.cli.run(["diff", "--sandbox", other], there)).toMatchObject({ code: 0, stdout: "" });
    expect(await project.cli.run(["diff"])).toMatchObject({ code: 1, stderr: expect.stringContaining("No live sandbox has a copy") });
  });

  it("is given back by its folder, from below it and when the sandbox is gone", async () => {
    await using project = await openProject();
    const id = await project.create("");
    await project.cli.run(["exec", id, "--", "sh", "-c", "mkdir sub; echo two >> notes.txt; echo new > sub/more.txt"]);
    const folder = join(project.cli.folder, "project");
    await project.cli.run(["apply", "--yes"], { cwd: folder });
    await project.cli.run(["sandbox", "kill", id]);
    await project.create("");
    await project.create("");
    await mkdir(join(folder, "mine"));
    expect(await project.cli.run(["apply", "--undo"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Nothing is to be undone"),
    });
    expect(await project.cli.run(["apply", "--undo"], { cwd: join(folder, "mine") })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`undid 3 change(s) of sandbox ${id}`),
    });
    expect(await project.notes()).toBe("one\n");
  });

  it("shows no changes where there are none", async () => {
    await using project = await openProject();
    const id = await project.create("");
    expect(await project.cli.run(["sandbox", "diff", "--json", id])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`"changes":[]`),
    });
  });

  it("is free of what package managers keep for themselves, whoever runs them", async () => {
    await using project = await openProject();
    const id = await project.create("");
    for (const user of ["user", "root", "user"]) {
      const npm = await project.cli.run(["exec", "--user", user, id, "--", "sh", "-c", "npm run nothing; npm config get cache"]);
      expect(npm).toMatchObject({ stdout: `/var/cache/${user}/npm\n`, stderr: expect.stringContaining(`/var/cache/${user}/npm/_logs/`) });
    }
    expect(await project.cli.run(["exec", id, "--", "sh", "-c", "mkdir -p $PIP_CACHE_DIR"])).toMatchObject({ code: 0 });
    expect(await project.cli.run(["sandbox", "diff", "--json", id])).toMatchObject({ stdout: expect.stringContaining(`"changes":[]`) });
  });

  it("can be read-only", async () => {
    await using project = await openProject();
    const id = await project.create(":ro");
    expect(await project.cli.run(["exec", id, "--", "cat", "notes.txt"])).toMatchObject({ stdout: "one\n" });
    const write = await project.cli.run(["exec", id, "--", "sh", "-c", "echo two > notes.txt"]);
    expect(write.code).not.toBe(0);
    expect(await project.notes()).toBe("one\n");
  });

  it("is written at once when it is read-write", async () => {
    await using project = await openProject();
    const id = await project.create(":rw");
    await project.cli.run(["exec", id, "--", "sh", "-c", "echo two > notes.txt"]);
    expect(await project.notes()).toBe("two\n");
  });

  it("refuses the system's folders", async () => {
    await using cli = await openCliHome();
    const result = await cli.run(["sandbox", "create", "--workspace", "/etc"]);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("WORKSPACE_INVALID") });
  });
});
