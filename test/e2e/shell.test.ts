import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import type { CliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";

/** `belljar shell` in a real terminal of 30 rows and 100 columns. */
function openShell(cli: CliHome, ...argv: string[]) {
  return runInTerminal(cli, ["shell", ...argv], { env: { TERM: "dumb" } });
}

describe("belljar shell", () => {
  it("is a terminal of the person's size, follows it, and gives the terminal back as it was", async () => {
    await using cli = await openCliHome();
    await using shell = openShell(cli);
    shell.type("stty size; tty\n");
    await shell.shows(/\n30 100\r*\n.*\/dev\/pts/);
    shell.type("resize 50 120\n");
    shell.type("until stty size | grep -x '50 120'; do sleep 0.05; done\n");
    // The shell may draw its prompt again in the new size: then the answer starts no line.
    await shell.shows(/50 120\r/);
    shell.type("exit 6\n");
    expect(await shell.end()).toMatchObject({ code: 6, said: "restored\n" });
  });

  it("without ID leaves no sandbox behind", async () => {
    await using cli = await openCliHome();
    await using shell = openShell(cli);
    shell.type("exit\n");
    await shell.end();
    expect(await cli.run(["sandbox", "list", "--json"])).toMatchObject({ stdout: "[]\n" });
  });

  it("with ID opens that sandbox, which lives on", async () => {
    await using cli = await openCliHome();
    const id = (await cli.run(["sandbox", "create"])).stdout.trim();
    await using shell = openShell(cli, id);
    shell.type("echo mine > a.txt; exit\n");
    expect(await shell.end()).toMatchObject({ code: 0 });
    expect(await cli.run(["exec", id, "--", "cat", "a.txt"])).toMatchObject({ stdout: "mine\n" });
  });

  it("keeps a sandbox alive while it is open", async () => {
    await using cli = await openCliHome();
    const id = (await cli.run(["sandbox", "create", "--timeout", "5m"])).stdout.trim();
    const events = cli.start(["sandbox", "events"]);
    await events.prints(/^resync\n/);
    await using shell = openShell(cli, id);
    await events.prints(new RegExp(`^changed ${id}$`, "m"));
    expect((await cli.run(["sandbox", "list"])).stdout).toMatch(new RegExp(`^${id} .* in (60|59) minutes`, "m"));
    shell.type("exit\n");
    await shell.end();
    await events[Symbol.asyncDispose]();
  });

  it("passes Ctrl+C to what runs inside", async () => {
    await using cli = await openCliHome();
    await using shell = openShell(cli);
    shell.type("trap 'echo caught' INT; echo ready\n");
    await shell.shows(/\nready/);
    shell.type("\u0003");
    await shell.shows(/\^Ccaught/);
    shell.type("exit 0\n");
    expect(await shell.end()).toMatchObject({ code: 0 });
  });

  it("asks for a terminal where there is none", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["shell"])).toMatchObject({ code: 2, stderr: expect.stringContaining("needs a terminal") });
  });
});

describe("belljar exec -it", () => {
  it("gives the command a terminal of the person's size, and its exit code to the person", async () => {
    await using cli = await openCliHome();
    await cli.run(["create", "--name", "web"]);
    await using command = runInTerminal(cli, ["exec", "-it", "web", "sh", "-c", "stty size; read line; echo got $line; exit 7"]);
    await command.shows(/30 100/);
    command.type("this\n");
    const { code, shown, said } = await command.end();
    expect({ code, said }).toEqual({ code: 7, said: "restored\n" });
    expect(shown).toContain("got this");
  });

  it("asks for a terminal where there is none, and needs none for -i alone", async () => {
    await using cli = await openCliHome();
    await cli.run(["create", "--name", "web"]);
    expect(await cli.run(["exec", "-it", "web", "sh"])).toMatchObject({ code: 2, stderr: expect.stringContaining("needs a terminal") });
    expect(await cli.run(["exec", "-i", "web", "cat"], { input: "piped" })).toMatchObject({ code: 0, stdout: "piped" });
  });
});

describe("colour", () => {
  it("is for terminals, and NO_COLOR takes it away", async () => {
    await using cli = await openCliHome();
    const show = async (env: Record<string, string>): Promise<string> => {
      await using command = runInTerminal(cli, ["lsit"], { env });
      return (await command.end()).shown;
    };
    expect(await show({})).toContain("\u001B[31mbelljar:");
    expect(await show({ NO_COLOR: "1" })).toMatch(/^belljar:/);
  });
});
