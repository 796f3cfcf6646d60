import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import type { CliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";

/** A project with `notes.txt`, and a sandbox that changed it and added two files. */
async function openProject() {
  const cli = await openCliHome();
  const cwd = join(cli.folder, "project");
  await mkdir(cwd);
  await writeFile(join(cwd, "notes.txt"), "one\ntwo\n");
  const id = (await cli.run(["sandbox", "create", "--workspace", "project"])).stdout.trim();
  const change = (script: string) => cli.run(["exec", id, "--", "sh", "-c", script]);
  await change("printf 'one\\nthree\\n' > notes.txt; echo '# new' > 'a b.md'; printf 'x\\000y' > data.bin");
  return { cli, cwd, id, change, [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose]() };
}

const ESCAPE = "\u001B";
const shown = (
  { cli, cwd }: { readonly cli: CliHome; readonly cwd: string },
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cols = 100,
) => runInTerminal(cli, ["diff", ...argv], { cwd, env, cols });

describe("belljar diff", () => {
  it("prints a patch for git, and counts lines", async () => {
    await using project = await openProject();
    const { cli, cwd } = project;
    const patch = await cli.run(["diff", "--patch"], { cwd });
    expect(patch).toMatchObject({ code: 0, stdout: expect.stringMatching(/^diff --git "a\/a b\.md" "b\/a b\.md"\n/), stderr: "" });
    execFileSync("git", ["apply", "-"], { cwd, input: patch.stdout });
    expect(await readFile(join(cwd, "notes.txt"), "utf8")).toBe("one\nthree\n");
    expect(await readFile(join(cwd, "data.bin"), "latin1")).toBe("x\0y");
    execFileSync("git", ["apply", "-R", "-"], { cwd, input: patch.stdout });
    expect(await cli.run(["diff", "--stat"], { cwd })).toMatchObject({
      code: 0,
      stdout: " a b.md    | 1 +\n data.bin  | binary, 3 bytes\n notes.txt | 2 +-\n 3 changed, 2 line(s) added, 1 line(s) removed\n",
    });
    expect(await cli.run(["diff", "--stat", "--patch"], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining("exclude") });
  });

  it("says beside a patch what is not in it", async () => {
    await using project = await openProject();
    const { cli, cwd, change } = project;
    await change("echo x > .envrc");
    await writeFile(join(cwd, "a b.md"), "mine\n");
    const { stdout, stderr } = await cli.run(["diff", "--patch"], { cwd });
    expect(stdout).not.toMatch(/envrc|a b\.md/);
    expect(stderr).toBe("C a b.md: added inside and outside\n! .envrc: left out unless it is named, direnv runs it\n");
  });

  it("is painted on a terminal alone, and not with NO_COLOR", async () => {
    await using project = await openProject();
    const { cli, cwd } = project;
    const painted = await shown(project, ["notes.txt"], { PAGER: "cat" }).end();
    expect(painted.shown).toContain(`${ESCAPE}[31m-two${ESCAPE}[39m\n${ESCAPE}[32m+three${ESCAPE}[39m\n`);
    const plain = await shown(project, ["notes.txt"], { PAGER: "cat", NO_COLOR: "1" }).end();
    expect(plain.shown).toContain("-two\n+three\n");
    expect(plain.shown).not.toContain(ESCAPE);
    const { stdout } = await cli.run(["diff", "notes.txt"], { cwd, env: { PAGER: "false" } });
    expect(stdout).toBe(plain.shown);
  });

  it("lies side by side in a wide terminal", async () => {
    await using project = await openProject();
    const wide = await shown(project, ["notes.txt"], { PAGER: "cat", NO_COLOR: "1" }, 163).end();
    expect(wide.shown).toContain(`${"-two".padEnd(80)} | +three\n`);
    const unified = await shown(project, ["--unified", "notes.txt"], { PAGER: "cat", NO_COLOR: "1" }, 163).end();
    expect(unified.shown).toContain("-two\n+three\n");
  });

  it("goes through the person's pager, whose Ctrl+C ends nothing, and ends with it", async () => {
    await using project = await openProject();
    const { change } = project;
    await change("yes long | head -20000 > long.txt");
    await using early = shown(project, [], { PAGER: "head -n 1; echo quit" });
    expect(await early.end()).toMatchObject({ code: 0, shown: expect.stringMatching(/a b\.md.*\n.*quit\n$/) });
    await using held = shown(project, [], { PAGER: "trap 'echo interrupted' INT; echo ready; read line < /dev/tty; echo got $line" });
    await held.shows(/ready/);
    held.type("\u0003");
    await held.shows(/interrupted/);
    held.type("word\n");
    expect(await held.end()).toMatchObject({ code: 0, said: "restored\n" });
    await using missing = shown(project, ["notes.txt"], { PAGER: "no-such-pager" });
    expect(await missing.end()).toMatchObject({ code: 0, shown: expect.stringContaining("+three") });
  });

  it("lets no name and no text steer the terminal", async () => {
    await using project = await openProject();
    const { change } = project;
    await change(`printf 'a\\033[2Jb\\r\\n' > "$(printf 'n\\033]0;owned\\007\\nM fake')"`);
    for (const form of [[], ["--stat"], ["--patch"], ["--name-only"]])
      for (const cols of [100, 200]) {
        const { shown: text, code } = await shown(project, form, { PAGER: "cat", NO_COLOR: "1" }, cols).end();
        expect({ code, text }).toEqual({ code: 0, text: expect.stringMatching(/^[\n -~]*$/) });
        expect(text).not.toMatch(/^M fake/m);
      }
  });
});
