import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";

const ESCAPE = "\u001B";

/** A project that a sandbox changed; then the person wrote `mine.txt`. */
async function openProject() {
  const cli = await openCliHome();
  const cwd = join(cli.folder, "project");
  await mkdir(cwd);
  for (const name of ["mine.txt", "日本.txt"]) await writeFile(join(cwd, name), "one\n", { mode: 0o644 });
  const id = (await cli.run(["sandbox", "create", "--workspace", "project"])).stdout.trim();
  const script = "echo inside > mine.txt; echo two >> 日本.txt; chmod 755 日本.txt; echo new > new.txt";
  await cli.run(["exec", id, "--", "sh", "-ec", script]);
  await writeFile(join(cwd, "mine.txt"), "outside\n");
  return {
    cli,
    cwd,
    shown: (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => runInTerminal(cli, argv, { cwd, env }),
    read: (name: string) => readFile(join(cwd, name), "utf8"),
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  };
}

describe("a person at a terminal", () => {
  it("reads what apply would write in a pager, and is asked then", async () => {
    await using project = await openProject();
    await using asked = project.shown(["apply"], { PAGER: "sed 's/^/paged: /'", NO_COLOR: "1" });
    await asked.shows(/Write 2 change\(s\) to \S+, and leave 1 conflict\(s\) alone\? \[y\/N\] /);
    asked.type("n\n");
    const { code, shown } = await asked.end();
    expect([code, shown]).toEqual([1, expect.stringMatching(/paged: A new\.txt\n[^]*paged: C mine\.txt[^]*\nNothing was written\.\n$/)]);
    expect(await project.read("日本.txt")).toBe("one\n");
  });

  it("waits for no pager with --yes, and sees conflicts in red, with what to do about them", async () => {
    await using project = await openProject();
    const { shown } = await project.shown(["apply", "--yes"], { PAGER: "sed 's/^/paged: /'" }).end();
    expect(shown).not.toContain("paged: ");
    expect(shown).toContain(`${ESCAPE}[31mConflict: mine.txt, the same lines were changed inside and outside${ESCAPE}[39m\n`);
    expect(shown).toContain("--theirs writes the sandbox's side");
    const again = await project.shown(["apply"], { PAGER: "cat", NO_COLOR: "1" }).end();
    expect([again.code, again.shown]).toEqual([1, expect.stringMatching(/C mine\.txt: [^]*--theirs writes the sandbox's side/)]);
    expect([await project.read("mine.txt"), await project.read("new.txt")]).toEqual(["outside\n", "new\n"]);
  });

  it("reads names and modes as they are", async () => {
    await using project = await openProject();
    const { shown } = await project.shown(["diff", "日本.txt"], { PAGER: "cat", NO_COLOR: "1" }).end();
    expect(shown).toContain("M 日本.txt (mode 644 -> 755)\n\n--- a/日本.txt\n+++ b/日本.txt\n@@ ");
  });
});
