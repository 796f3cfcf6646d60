import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CliResult } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";

const TEXT = "one\ntwo\nthree\nfour\nfive\n";

/** A project, a server, and a person with a home of their own, whose token has a sandbox of the server with a copy of the project. */
async function openServed() {
  const cli = await openCliHome();
  const person = await openCliHome();
  const cwd = join(await realpath(person.folder), "project");
  await mkdir(cwd);
  for (const name of ["notes.txt", "gone.txt"]) await writeFile(join(cwd, name), TEXT);
  const server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  const tokenOf = async (...argv: string[]) => (await cli.run(["token", "create", ...argv])).stdout.trim();
  const env = { BELLJAR_URL: url, BELLJAR_TOKEN: await tokenOf("person", "--scope", `workspace:${cwd}`) };
  const run = (argv: readonly string[], own: Readonly<Record<string, string>> = {}): Promise<CliResult> =>
    person.run(argv, { cwd, env: { ...env, ...own } });
  const id = (await run(["sandbox", "create", "--workspace", "."])).stdout.trim();
  return {
    person,
    cwd,
    env,
    id,
    run,
    tokenOf,
    read: (name: string) => readFile(join(cwd, name), "utf8"),
    change: (script: string) => run(["exec", id, "--", "sh", "-ec", script]),
    async [Symbol.asyncDispose]() {
      await run(["sandbox", "kill", id]);
      await server[Symbol.asyncDispose]();
      await person[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
}

describe("the workspace of a server's sandbox", () => {
  it("is compared, merged with the person's changes, written and given back", async () => {
    await using served = await openServed();
    const { cwd, run, read } = served;
    await served.change("sed -i s/two/TWO/ notes.txt; rm gone.txt; echo new > new.txt");
    await writeFile(join(cwd, "notes.txt"), TEXT.replace("five", "mine"));
    expect(await run(["diff", "--name-only"])).toMatchObject({ code: 0, stdout: "gone.txt\nnew.txt\nnotes.txt\n", stderr: "" });
    expect(await run(["diff", "notes.txt"])).toMatchObject({ code: 0, stdout: expect.stringContaining("-two\n+TWO\n") });
    expect(await run(["apply", "--yes"])).toMatchObject({ code: 0, stderr: expect.stringContaining("2 written, 1 removed") });
    const merged = TEXT.replace("two", "TWO").replace("five", "mine");
    expect(await read("notes.txt")).toBe(merged);
    expect(await run(["diff", "--name-only"])).toMatchObject({ code: 0, stdout: "" });
    expect(await run(["apply", "--undo"])).toMatchObject({ code: 0, stderr: expect.stringContaining("undid 3 change(s)") });
    expect(await read("notes.txt")).toBe(TEXT.replace("five", "mine"));
    expect(await read("gone.txt")).toBe(TEXT);
    expect(await run(["diff", "--name-only"])).toMatchObject({ stdout: "gone.txt\nnew.txt\nnotes.txt\n" });
  });

  it("is written in parts that the person chooses", async () => {
    await using served = await openServed();
    await served.change("sed -i s/two/TWO/ notes.txt; rm gone.txt");
    await using asked = runInTerminal(served.person, ["apply", "-p"], { cwd: served.cwd, env: { ...served.env, NO_COLOR: "1" } });
    await asked.shows(/D gone\.txt[^]*Write this\? \S+ $/);
    asked.type("n\n");
    await asked.shows(/part of notes\.txt\? \S+ $/);
    asked.type("y\n");
    expect(await asked.end()).toMatchObject({ code: 0, shown: expect.stringContaining("1 written, 0 removed") });
    expect(await served.read("notes.txt")).toBe(TEXT.replace("two", "TWO"));
    expect(await served.read("gone.txt")).toBe(TEXT);
  });

  it("is nobody else's", async () => {
    await using served = await openServed();
    await served.change("echo new > new.txt");
    const other = { BELLJAR_TOKEN: await served.tokenOf("other", "--scope", `workspace:${served.cwd}`) };
    expect(await served.run(["diff"], other)).toMatchObject({ code: 1, stderr: expect.stringContaining("No live sandbox has a copy") });
    for (const argv of [["diff"], ["apply", "--yes"], ["apply", "--undo"]])
      expect(await served.run(["sandbox", ...argv, served.id], other)).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("SANDBOX_NOT_FOUND"),
      });
  });

  it("is not looked for when the server is another machine", async () => {
    await using cli = await openCliHome();
    const env = { BELLJAR_URL: "http://belljar.example:6060" };
    for (const argv of [["diff"], ["apply", "--yes"], ["apply", "--undo"], ["sandbox", "create", "--workspace", "."]])
      expect(await cli.run(argv, { env })).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/belljar\.example[^]*http:\/\/127\.0\.0\.1:6060[^]*belljar cp[^]*NOT_SUPPORTED/),
      });
  });
});
