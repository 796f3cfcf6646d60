import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import type { CliHome } from "../support/belljar-cli.ts";

const ROOT = join(import.meta.dirname, "../..");

/** `belljar shell` in a real terminal of 30 rows and 100 columns. */
function openShell(cli: CliHome, ...argv: string[]) {
  const command = [process.execPath, join(ROOT, "bin/belljar.js"), "shell", ...argv];
  const env = { ...process.env, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home", TERM: "dumb" };
  const child = spawn("python3", [join(ROOT, "test/fixtures/in-terminal.py"), "30", "100", ...command], { env, cwd: cli.folder });
  const closed = once(child, "close");
  let shown = "";
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  return {
    type: (text: string) => void child.stdin.write(text),
    shows(pattern: RegExp): Promise<void> {
      return new Promise((resolve, reject) => {
        const look = () => pattern.test(shown) && resolve();
        look();
        child.stdout.on("data", look);
        child.stdout.once("end", () => reject(new Error(`It never showed ${pattern}, but:\n${shown}`)));
      });
    },
    async end(): Promise<{ readonly code: number | null; readonly said: string }> {
      const [code] = (await closed) as [number | null];
      return { code, said };
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await closed;
    },
  };
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
    expect(await shell.end()).toEqual({ code: 6, said: "restored\n" });
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
    expect((await cli.run(["sandbox", "list"])).stdout).toMatch(new RegExp(`^${id} .* in (60m|59m)`, "m"));
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
