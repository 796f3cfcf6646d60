import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";

const lines = (changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: 40 }, (_, index) => `${changed[index] ?? index}\n`).join("");

async function openProject(script: string) {
  const cli = await openCliHome();
  const cwd = join(cli.folder, "project");
  await mkdir(join(cwd, "old"), { recursive: true });
  for (const [name, content] of Object.entries({ a: lines(), b: lines(), "old/x": "x\n", "old/y": "y\n" }))
    await writeFile(join(cwd, name), content);
  const id = (await cli.run(["sandbox", "create", "--workspace", "project"])).stdout.trim();
  await cli.run(["exec", id, "--", "sh", "-ec", script]);
  return {
    cli,
    cwd,
    read: (path: string) => readFileSync(join(cwd, path), "utf8"),
    choose: () => runInTerminal(cli, ["apply", "-p"], { cwd, env: { NO_COLOR: "1" } }),
    rest: async () => (await cli.run(["diff", "--name-only"], { cwd })).stdout,
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  };
}

describe("belljar apply --patch", () => {
  it("writes what the person chooses, part by part, and leaves the rest for later", async () => {
    await using project = await openProject(
      "sed -i 's/^5$/five/; s/^8$/eight/; s/^30$/thirty/' a; sed -i 's/^1$/one/; s/^20$/twenty/; s/^35$/last/' b; mkdir -p new/deep; echo 1 > new/one; echo 2 > new/deep/two; rm -r old",
    );
    await using person = project.choose();
    const answer = async (asked: RegExp, key: string): Promise<void> => {
      await person.shows(asked);
      person.type(`${key}\n`);
    };
    await answer(/part of a\? \[y,n,a,d,s,q,\?\] $/, "?");
    await answer(/split this into smaller parts[^]*part of a\? \[y,n,a,d,s,q,\?\] $/, "s");
    await answer(/\+five[^]*\+five[^]*part of a\? \[y,n,a,d,q,\?\] $/, "y");
    await answer(/\+eight[^]*\+eight[^]*part of a\? \[y,n,a,d,q,\?\] $/, "n");
    await answer(/\+thirty[^]*part of a\? \[y,n,a,d,q,\?\] $/, "y");
    await answer(/\+one[^]*part of b\? \[y,n,a,d,q,\?\] $/, "n");
    await answer(/\+twenty[^]*part of b\? \[y,n,a,d,q,\?\] $/, "a");
    await answer(/A new\/deep\/two[^]*Write this\? \[y,n,q,\?\] $/, "n");
    await answer(/A new\/one[^]*Write this\? \[y,n,q,\?\] $/, "y");
    await answer(/D old\/x[^]*Write this\? \[y,n,q,\?\] $/, "y");
    await answer(/D old\/y[^]*Write this\? \[y,n,q,\?\] $/, "q");
    expect(await person.end()).toMatchObject({ code: 0, shown: expect.stringContaining("4 written, 1 removed"), said: "restored\n" });
    expect(project.read("a")).toBe(lines({ 5: "five", 30: "thirty" }));
    expect(project.read("b")).toBe(lines({ 20: "twenty", 35: "last" }));
    expect(["new/one", "new/deep", "old/x", "old/y"].filter((path) => existsSync(join(project.cwd, path)))).toEqual(["new/one", "old/y"]);
    expect(await project.rest()).toBe("a\nb\nnew/deep\nnew/deep/two\nold\nold/y\n");
  });

  it("explains the answers that it takes", async () => {
    await using project = await openProject("echo new > new");
    await using person = project.choose();
    await person.shows(/Write this\? \[y,n,q,\?\] $/);
    person.type("?\n");
    await person.shows(/show this help\s+Write this\? \S+ $/);
    person.type("q\n");
    const { shown } = await person.end();
    expect(shown).toContain("y - write this\nn - do not write it\nq - quit: neither this nor anything that follows\n? - show this help\n");
  });

  it("writes nothing when the person quits at once, is interrupted, or ends the input", async () => {
    await using project = await openProject("echo more >> a");
    for (const key of ["q\n", "\u0004"]) {
      await using person = project.choose();
      await person.shows(/\[y,n,a,d,q,\?\] $/);
      person.type(key);
      expect(await person.end()).toMatchObject({ code: 0, said: "restored\n" });
    }
    await using person = project.choose();
    await person.shows(/\[y,n,a,d,q,\?\] $/);
    person.type("\u0003");
    expect((await person.end()).code).toBe(130);
    expect(project.read("a")).toBe(lines());
  });

  it("is for terminals alone, and asks in the place of other wishes", async () => {
    await using project = await openProject("echo more >> a");
    const { cli, cwd } = project;
    expect(await cli.run(["apply", "-p"], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining("terminal") });
    await using sure = runInTerminal(cli, ["apply", "-p", "--yes"], { cwd });
    expect(await sure.end()).toMatchObject({ code: 2, shown: expect.stringContaining("exclude") });
    expect(project.read("a")).toBe(lines());
  });
});
