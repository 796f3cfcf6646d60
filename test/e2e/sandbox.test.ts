import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import type { CliHome } from "../support/belljar-cli.ts";

async function createSandbox(cli: CliHome, ...options: string[]): Promise<string> {
  const { stdout, stderr } = await cli.run(["sandbox", "create", "--json", ...options]);
  expect(stderr).toBe("");
  return (JSON.parse(stdout) as { id: string }).id;
}

describe("belljar sandbox", () => {
  it("makes, lists, shows and ends a sandbox", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli, "-m", "task=demo");
    expect(id).toMatch(/^[a-z0-9]{20}$/);
    const list = JSON.parse((await cli.run(["sandbox", "list", "--json", "-m", "task=demo"])).stdout) as unknown;
    expect(list).toMatchObject([{ id, state: "running", metadata: { task: "demo" } }]);
    const info = await cli.run(["sandbox", "info", id.slice(0, 8)]);
    expect(info.stdout).toMatch(new RegExp(`^id +${id}$`, "m"));
    expect(await cli.run(["sandbox", "kill", id])).toMatchObject({ code: 0, stdout: `${id}\n` });
    expect(await cli.run(["sandbox", "list", "--json"])).toMatchObject({ stdout: "[]\n" });
    const ended = JSON.parse((await cli.run(["sandbox", "list", "--all", "--json"])).stdout) as unknown;
    expect(ended).toMatchObject([{ id, state: "ended", endReason: "killed" }]);
  });

  it("moves a deadline further away and nearer", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    const extended = await cli.run(["sandbox", "extend", id, "4h"]);
    expect(extended).toMatchObject({ code: 0, stdout: `${id} ends in 4 hours\n` });
    const leftMs = async (): Promise<number> => {
      const { deadline } = JSON.parse((await cli.run(["sandbox", "info", id, "--json"])).stdout) as { deadline: string };
      return Date.parse(deadline) - Date.now();
    };
    expect(await leftMs()).toBeGreaterThan(3.9 * 3_600_000);
    const answer = JSON.parse((await cli.run(["sandbox", "extend", id, "30m", "--json"])).stdout) as { id: string; deadline: string };
    expect(answer.id).toBe(id);
    expect(await leftMs()).toBeLessThanOrEqual(1_800_000);
    expect(await cli.run(["sandbox", "extend", id, "30"])).toMatchObject({ code: 2, stderr: expect.stringContaining("30s, 5m or 1h") });
  });

  it("prints the events of what other commands do, until it is stopped", async () => {
    await using cli = await openCliHome();
    const text = cli.start(["sandbox", "events"]);
    const json = cli.start(["sandbox", "events", "--json"]);
    await Promise.all([text.prints(/^resync\n/), json.prints(/^\{"type":"resync"\}\n/)]);
    const id = await createSandbox(cli);
    await text.prints(new RegExp(`^created ${id}$`, "m"));
    await cli.run(["sandbox", "kill", id]);
    await text.prints(new RegExp(`^ended ${id} killed$`, "m"));
    await json.prints(new RegExp(`^\\{"type":"ended","sandbox":"${id}","reason":"killed"\\}$`, "m"));
    for (const command of [text, json]) command.signal("SIGTERM");
    for (const { code } of [await text.exit, await json.exit]) expect([0, 143]).toContain(code);
  });

  it("keeps files and processes between commands", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    await cli.run(["exec", id, "--", "sh", "-c", "echo kept > a.txt"]);
    expect(await cli.run(["exec", id, "--", "cat", "a.txt"])).toMatchObject({ code: 0, stdout: "kept\n" });
  });

  it("tells of a sandbox that has ended, and of one that never was", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    await cli.run(["sandbox", "kill", id]);
    expect(await cli.run(["exec", id, "--", "true"])).toMatchObject({ code: 125, stderr: expect.stringContaining("SANDBOX_ENDED") });
    const unknown = await cli.run(["sandbox", "info", "a".repeat(20)]);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("SANDBOX_NOT_FOUND") });
  });

  it("refuses limits that make no sense", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["sandbox", "create", "--memory", "lots"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--memory"),
    });
  });
});

describe("belljar exec", () => {
  it("streams stdin, stdout and stderr and gives the command's exit code", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    const result = await cli.run(["exec", id, "--", "sh", "-c", "cat; echo err >&2; exit 7"], { input: "in\n" });
    expect(result).toEqual({ code: 7, stdout: "in\n", stderr: "err\n" });
  });

  it("carries ten megabytes both ways unharmed", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    const input = "0123456789".repeat(1_000_000);
    const { stdout } = await cli.run(["exec", id, "--", "cat"], { input });
    expect(stdout === input).toBe(true);
  });

  it("names the folder, the environment and the user", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli, "--env", "BASE=1");
    const argv = ["exec", id, "--cwd", "/tmp", "-e", "MORE=2", "-e", "GIVEN", "--", "sh", "-c", 'echo "$PWD $BASE $MORE $GIVEN $(id -un)"'];
    expect(await cli.run(argv, { env: { GIVEN: "3" } })).toMatchObject({ stdout: "/tmp 1 2 3 user\n" });
  });

  it("gives 128 and the number of a signal, and 125 for what it cannot run", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    expect(await cli.run(["exec", id, "--", "sh", "-c", "kill -9 $$"])).toMatchObject({ code: 137 });
    expect(await cli.run(["exec", id, "--", "no-such-command"])).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("COMMAND_NOT_FOUND"),
    });
    expect(await cli.run(["exec", id, "--timeout", "200ms", "--", "sleep", "60"])).toMatchObject({ code: 125 });
    expect(await cli.run(["exec", id])).toMatchObject({ code: 2 });
  });

  it("forwards Ctrl+C to the command", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    await using command = cli.start([
      "exec",
      id,
      "--",
      "bash",
      "-c",
      "trap 'echo caught; exit 9' INT; echo ready >&2; while :; do sleep 0.05; done",
    ]);
    await command.says(/ready/);
    command.signal("SIGINT");
    expect(await command.exit).toMatchObject({ code: 9, stdout: "caught\n" });
  });
});

describe("belljar cp", () => {
  it("copies a file in and out", async () => {
    await using cli = await openCliHome();
    const id = await createSandbox(cli);
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    await writeFile(join(cli.folder, "a.bin"), bytes);
    expect(await cli.run(["cp", "a.bin", `${id}:b.bin`])).toMatchObject({ code: 0 });
    expect(await cli.run(["cp", `${id}:b.bin`, "c.bin"])).toMatchObject({ code: 0 });
    expect(await readFile(join(cli.folder, "c.bin"))).toEqual(bytes);
  });

  it("refuses two sides of one kind", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["cp", "a", "b"])).toMatchObject({ code: 2, stderr: expect.stringContaining("ID:PATH") });
  });
});
