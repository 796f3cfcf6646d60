import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

/** A project whose program needs its neighbours, reads data and leaves files. */
async function makeProject({ folder }: CliHome): Promise<string> {
  const project = join(folder, "project");
  await mkdir(join(project, "tools/lib"), { recursive: true });
  await writeFile(join(project, "tools/lib/shout.py"), "def shout(text): return text.upper()\n");
  await writeFile(
    join(project, "tools/build.py"),
    [
      "import os, sys",
      "from lib.shout import shout",
      "print(os.getcwd(), shout(open('data.txt').read()), *sys.argv[1:])",
      "os.makedirs('out', exist_ok=True)",
      "open('out/result.txt', 'w').write('made')",
      "open('data.txt', 'a').write('more')",
    ].join("\n"),
  );
  await writeFile(join(project, "data.txt"), "data");
  return project;
}

describe("belljar run FILE --workspace DIR", () => {
  it("runs in the folder, finds the program's neighbours, and its files arrive", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    const result = await cli.run(["run", "tools/build.py", "--workspace", ".", "--", "one"], { cwd: project });
    expect(result).toMatchObject({ code: 0, stdout: "/workspace DATA one\n" });
    expect(result.stderr).toMatch(
      /^belljar: .*\/project: \d+ written, 0 removed\. To undo it: belljar sandbox apply --undo [a-z0-9]{20}\n$/,
    );
    expect(await readFile(join(project, "out/result.txt"), "utf8")).toBe("made");
    expect(await readFile(join(project, "data.txt"), "utf8")).toBe("datamore");
    expect((await readdir(project)).toSorted()).toEqual(["data.txt", "out", "tools"]);
    expect(await cli.run(["sandbox", "list", "--json"])).toMatchObject({ stdout: "[]\n" });
  });

  it("runs a program of another folder there too", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(join(cli.folder, "list.sh"), 'pwd; cat data.txt; echo left > left.txt; ls "$(dirname "$0")"\n');
    const result = await cli.run(["run", "list.sh", "--workspace", project]);
    expect(result).toMatchObject({ code: 0, stdout: "/workspace\ndatalist.sh\n" });
    expect(await readFile(join(project, "left.txt"), "utf8")).toBe("left\n");
    expect(await readdir(project)).not.toContain("list.sh");
  });

  it("leaves no output of a compiler in the folder", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(join(project, "answer.h"), "#define ANSWER 42\n");
    await writeFile(
      join(project, "main.c"),
      '#include <stdio.h>\n#include "answer.h"\nint main(void) { return printf("%d\\n", ANSWER) < 0; }\n',
    );
    expect(await cli.run(["run", "main.c", "--workspace", "."], { cwd: project })).toEqual({ code: 0, stdout: "42\n", stderr: "" });
    expect((await readdir(project)).toSorted()).toEqual(["answer.h", "data.txt", "main.c", "tools"]);
  });

  it("names what it does not write, and writes the rest", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(join(project, ".gitignore"), "*.log\n");
    execFileSync("git", ["init", "-q"], { cwd: project });
    const script = 'echo "touch /tmp/x" > .envrc; echo "{}," > package.json; echo x > a.log; mkfifo pipe; echo new > new.txt';
    await writeFile(join(project, "leave.sh"), script);
    const { code, stderr } = await cli.run(["run", "leave.sh", "--workspace", "."], { cwd: project });
    expect(code).toBe(0);
    for (const line of [".envrc, direnv", "package.json, its scripts", "1 change(s) that git ignores", "pipe, it is a socket"])
      expect(stderr).toContain(`belljar: Left out: ${line}`);
    const there = (await readdir(project)).filter((name) => [".envrc", "package.json", "a.log", "pipe", "new.txt"].includes(name));
    expect(there).toEqual(["new.txt"]);
  });

  it("fails and names what was changed on both sides, and leaves it alone", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(join(cli.folder, "wait.sh"), "echo theirs > data.txt; echo ready; read wait; echo new > new.txt");
    await using running = cli.start(["run", "wait.sh", "--workspace", project]);
    await running.prints(/ready/);
    await writeFile(join(project, "data.txt"), "mine\n");
    running.endInput("go\n");
    const { code, stderr } = await running.exit;
    expect(code).toBe(125);
    expect(stderr).toContain("data.txt, ");
    expect(stderr).toContain("These files of the program were not written: run it again, or with :rw");
    expect([await readFile(join(project, "data.txt"), "utf8"), await readFile(join(project, "new.txt"), "utf8")]).toEqual([
      "mine\n",
      "new\n",
    ]);
  });

  it("says with --json what the program said, though its files cannot all be written", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(
      join(cli.folder, "wait.sh"),
      "echo theirs > data.txt; echo said; mkfifo /tmp/begun; echo begun > /tmp/begun; read wait",
    );
    await using events = cli.start(["sandbox", "events"]);
    await events.prints(/resync/);
    await using running = cli.start(["run", "wait.sh", "--json", "--workspace", project]);
    const [, id = ""] = await events.prints(/created +(\S+)/);
    // What is changed before the sandbox begins is in it, and no change of the person's beside it.
    expect(await cli.run(["exec", id, "sh", "-c", "mkfifo /tmp/begun; cat /tmp/begun"])).toMatchObject({ stdout: "begun\n" });
    await writeFile(join(project, "data.txt"), "mine\n");
    running.endInput("go\n");
    const { code, stdout, stderr } = await running.exit;
    expect({ code, said: (JSON.parse(stdout) as { stdout: string }).stdout }).toEqual({ code: 125, said: "said\n" });
    expect(stderr).toContain("data.txt, ");
  });

  it("keeps what a failed program left, and its exit code", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(join(project, "fail.sh"), "echo partly > log.txt; exit 3\n");
    expect(await cli.run(["run", "fail.sh", "--workspace", "."], { cwd: project })).toMatchObject({ code: 3 });
    expect(await readFile(join(project, "log.txt"), "utf8")).toBe("partly\n");
  });

  it.each(["copy", "ro"])("writes nothing to a folder that is named as %s", async (mode) => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    const before = (await stat(project)).mtimeMs;
    await writeFile(join(cli.folder, "write.sh"), "cat data.txt; echo left > left.txt\n");
    const { stdout } = await cli.run(["run", "write.sh", "--workspace", `${project}:${mode}`]);
    expect(stdout).toBe("data");
    expect(await readdir(project)).not.toContain("left.txt");
    expect((await stat(project)).mtimeMs).toBe(before);
  });
});

describe("belljar run with limits", () => {
  it("gives the program the memory that is named, with a workspace and without", async () => {
    await using cli = await openCliHome();
    const project = await makeProject(cli);
    await writeFile(join(project, "hold.py"), "held = bytearray(200 << 20)\nprint('held')\n");
    const { limits } = JSON.parse((await cli.run(["doctor", "--json"])).stdout) as { readonly limits: readonly string[] };
    const isLimited = limits.includes("memoryBytes");
    for (const where of [[], ["--workspace", "."]]) {
      const small = await cli.run(["run", "hold.py", "--memory", "64m", ...where], { cwd: project });
      const refused = { code: 125, stderr: expect.stringContaining("LIMIT_UNENFORCEABLE") };
      const killed = { code: 137, stderr: expect.stringContaining("memory was used up") };
      expect(small).toMatchObject(isLimited ? killed : refused);
      const large = await cli.run(["run", "hold.py", "--memory", "512m", "--timeout", "1m", ...where], { cwd: project });
      expect(large).toMatchObject(isLimited ? { code: 0, stdout: "held\n" } : refused);
    }
  });

  it("refuses limits that make no sense", async () => {
    await using cli = await openCliHome();
    const result = await cli.run(["run", "-", "-l", "bash", "--cpus", "many"], { input: "true" });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('--cpus "many"') });
  });
});
