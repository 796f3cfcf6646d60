import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";
import { CLI } from "../support/served-home.ts";

/** An agent that starts background processes in its default sandbox. */
async function openAgent(cli: CliHome) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: cli.folder, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home" };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env, cwd: cli.folder, stderr: "inherit" }),
  );
  return {
    async start(command: string): Promise<string> {
      const { content } = await client.callTool({ name: "run_command", arguments: { command, background: true } });
      return /\b[0-9a-f]{10}\b/.exec(JSON.stringify(content))?.[0] ?? "";
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

describe("belljar logs", () => {
  it("prints a process's output as it is, and follows it to its end", async () => {
    await using cli = await openCliHome();
    await using agent = await openAgent(cli);
    const process = await agent.start(
      "printf 'one\\n\\033[31mtwo\\033[0m\\n'; until [ -e go ]; do read -t 0.1 < /dev/zero; done; echo three",
    );
    const [id = ""] = (await cli.run(["list", "-q"])).stdout.split("\n");
    await using following = cli.start(["logs", "-f", id]);
    await following.prints(/two/);
    await cli.run(["exec", id, "touch", "go"]);
    expect(await following.exit).toMatchObject({ code: 0, stdout: "one\n\u001B[31mtwo\u001B[0m\nthree\n", stderr: "" });
    expect(await cli.run(["logs", id, process.slice(0, 6), "--tail", "1"])).toMatchObject({ code: 0, stdout: "three\n" });
    expect(await cli.run(["logs", id, "none"])).toMatchObject({ code: 1, stderr: expect.stringContaining("PROCESS_NOT_FOUND") });
  });

  it("marks the lines of several, and lets none write in another one's name", async () => {
    await using cli = await openCliHome();
    await using agent = await openAgent(cli);
    const first = await agent.start("printf 'a\\033[2K\\rforged\\n'");
    const second = await agent.start("echo b");
    const [id = ""] = (await cli.run(["list", "-q"])).stdout.split("\n");
    const { stdout } = await cli.run(["logs", "-f", id]);
    expect(stdout).toMatch(new RegExp(`^${first} .* \\| a\\\\u\\{1b\\}\\[2K\\\\u\\{d\\}forged$`, "m"));
    expect(stdout).toMatch(new RegExp(`^${second} echo b \\| b$`, "m"));
    expect(stdout).not.toContain("\u001B");
  });

  it("breaks a line without end, and begins within it", async () => {
    await using cli = await openCliHome();
    await using agent = await openAgent(cli);
    const first = await agent.start("head -c 300000 /dev/zero | tr '\\0' x");
    await agent.start("echo b");
    const [id = ""] = (await cli.run(["list", "-q"])).stdout.split("\n");
    const { stdout } = await cli.run(["logs", "-f", id]);
    const lines = stdout.split("\n").filter((line) => line.startsWith(first));
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.map((line) => line.replace(/^.* \| /, "")).join("")).toBe("x".repeat(300_000));
    expect((await cli.run(["logs", id, first, "--tail", "2"])).stdout).toBe("x".repeat(2 * 65_536));
  });

  it("says when there is nothing", async () => {
    await using cli = await openCliHome();
    await cli.run(["create", "--name", "web"]);
    expect(await cli.run(["logs", "web"])).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("No background process") });
  });
});

describe("belljar stats", () => {
  it("tells what each sandbox uses, once in a pipe", async () => {
    await using cli = await openCliHome();
    await cli.run(["create", "--name", "busy"]);
    await cli.run(["create", "--name", "idle"]);
    await using _busy = cli.start(["exec", "busy", "sh", "-c", "echo on; while :; do :; done"]);
    await _busy.prints(/on/);
    const stats = JSON.parse((await cli.run(["stats", "--json"])).stdout) as { name: string; cpus: number }[];
    const busy = stats.find(({ name }) => name === "busy");
    const idle = stats.find(({ name }) => name === "idle");
    expect(busy).toMatchObject({ memoryBytes: expect.any(Number), processes: expect.any(Number), diskTotalBytes: expect.any(Number) });
    expect(busy?.cpus).toBeGreaterThan(idle?.cpus ?? 1);
    const table = (await cli.run(["stats", "idle"])).stdout;
    expect(table).toMatch(/^ID +NAME +CPU +MEMORY +PROCESSES +DISK\n[a-z0-9]{20} +idle +[\d.]+ % .*B \/ .*\n$/);
    expect(await cli.run(["stats", "nobody"])).toMatchObject({ code: 1, stderr: expect.stringContaining("SANDBOX_NOT_FOUND") });
  });

  it("goes on until Ctrl+C on a terminal", async () => {
    await using cli = await openCliHome();
    await cli.run(["create", "--name", "web"]);
    await using live = runInTerminal(cli, ["stats"]);
    await live.shows(/web.*ID +NAME.*web/s);
    live.type("\u0003");
    const { code, shown } = await live.end();
    expect(code).toBe(130);
    expect(shown).not.toMatch(/\n +at |Error/);
  });
});
