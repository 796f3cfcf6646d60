import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, open, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLI } from "../support/served-home.ts";
import { runInTerminal } from "../support/person-terminal.ts";
import { openCliHome } from "../support/belljar-cli.ts";

describe("belljar", () => {
  it("prints its help on stdout and its version", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["--help"])).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("Usage: belljar COMMAND") });
    expect(await cli.run(["version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it("prints its help if it is given nothing", async () => {
    await using cli = await openCliHome();
    expect(await cli.run([])).toEqual(await cli.run(["--help"]));
  });

  it.each([[["fly"]], [["sandbox"]], [["exec"]], [["serve", "--fast"]]])(
    "exits with 2 for %j and prints nothing on stdout",
    async (argv) => {
      await using cli = await openCliHome();
      const result = await cli.run(argv);
      expect(result).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(/^belljar: .*\nSee: belljar .*--help \(USAGE\)\n$/s),
      });
    },
  );

  it("names every bad setting and starts nothing", async () => {
    await using cli = await openCliHome();
    await mkdir(cli.home, { recursive: true });
    await writeFile(join(cli.home, "config.json"), JSON.stringify({ port: -1, colour: "red" }));
    const { code, stderr } = await cli.run(["sandbox", "list"]);
    expect(code).toBe(1);
    expect(stderr).toContain("port");
    expect(stderr).toContain("colour");
    expect(stderr).toContain("CONFIG_INVALID");
  });

  it("shows a stack only on --debug", async () => {
    await using cli = await openCliHome();
    const argv = ["sandbox", "info", "a".repeat(20)];
    expect((await cli.run(argv)).stderr).not.toMatch(/\n +at /);
    expect((await cli.run([...argv, "--debug"])).stderr).toMatch(/\n +at /);
  });

  it("ends quietly when nobody reads its output", async () => {
    await using cli = await openCliHome();
    const { stdout: id } = await cli.run(["sandbox", "create"]);
    await using command = cli.start(["exec", id.trim(), "--", "yes"]);
    await command.firstOutput();
    command.closeOutput();
    const { code, stderr } = await command.exit;
    expect({ code, stderr }).toEqual({ code: 141, stderr: "" });
  });
});

it("fails when its output cannot be written, and says why without a stack", async () => {
  await using cli = await openCliHome();
  const { stdout: id } = await cli.run(["sandbox", "create"]);
  await cli.run(["exec", id.trim(), "--", "sh", "-c", "head -c 2000000 /dev/zero > big"]);
  for (const [argv, code] of [
    [["--help"], 1],
    [["list", "--json"], 1],
    [["exec", id.trim(), "--", "cat", "big"], 125],
    [["cp", `${id.trim()}:big`, "-"], 1],
  ] as const) {
    const full = await open("/dev/full", "w");
    const env = { ...process.env, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home" };
    const { status, stderr } = spawnSync(process.execPath, [CLI, ...argv], { env, stdio: ["ignore", full.fd, "pipe"], encoding: "utf8" });
    await full.close();
    const problem = "belljar: The output cannot be written (the disk is full): not all of it has arrived (DISK_FULL)\n";
    expect({ status, stderr }).toEqual({ status: code, stderr: problem });
  }
});

it("says at a terminal that hosts start belljar mcp, and nothing to a host", async () => {
  await using cli = await openCliHome();
  await using terminal = runInTerminal(cli, ["mcp"]);
  await terminal.shows(/A host starts this command by itself: `belljar connect HOST`/);
  terminal.type("\u0004");
  expect(await terminal.end()).toMatchObject({ code: 0 });
  expect(await cli.run(["mcp"], { input: "" })).toEqual({ code: 0, stdout: "", stderr: "" });
});

describe("Ctrl+C", () => {
  it.each([
    [["serve", "--port", "0"], "err", /http:/],
    [["sandbox", "events"], "out", /resync/],
    [["run", "-", "--lang", "bash"], "out", /begun/],
  ] as const)("ends %j at once, without a stack", async (argv, where, begun) => {
    await using cli = await openCliHome();
    await using command = cli.start(argv);
    command.endInput("echo begun; sleep 1000");
    await (where === "out" ? command.prints(begun) : command.says(begun));
    command.signal("SIGINT");
    const { code, stderr } = await command.exit;
    expect([0, 130]).toContain(code);
    expect(stderr).not.toMatch(/\n +at |Error|wrong/);
  });

  it("shows an error that nobody awaits as any other, and none of it after a signal", async () => {
    await using cli = await openCliHome();
    const breaks = "process.nextTick(() => Promise.reject(new Error('lost')))";
    const preload = (code: string) => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` });
    const events = "process.on('newListener', (name) => name === 'uncaughtException' && setImmediate(() => { X }))";
    const lost = await cli.run(["sandbox", "events"], { env: preload(events.replace("X", breaks)) });
    expect(lost).toMatchObject({ code: 1, stderr: expect.stringMatching(/^belljar: something went wrong[^]*lost/) });
    expect(lost.stderr).not.toContain("Node.js v");
    const signalled = await cli.run(["sandbox", "events"], {
      env: preload(events.replace("X", `process.kill(process.pid, 'SIGINT'); process.on('SIGINT', () => { ${breaks} })`)),
    });
    expect(signalled).toMatchObject({ code: 130, stderr: "" });
  });
});

it("runs through a link on the PATH, as the README makes one", async () => {
  await using cli = await openCliHome();
  const bin = join(cli.folder, "bin");
  await mkdir(bin);
  await symlink(join(import.meta.dirname, "../../bin/belljar.js"), join(bin, "belljar"));
  const env = { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, BELLJAR_HOME: cli.home };
  expect(execFileSync(join(bin, "belljar"), ["version"], { env, cwd: cli.folder }).toString()).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe("an old Node", () => {
  it("is told which one Belljar needs, before anything else runs", async () => {
    await using cli = await openCliHome();
    const old = "Object.defineProperty(process.versions, 'node', { value: '18.20.4' })";
    const result = await cli.run(["version"], { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(old)}` } });
    expect(result).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/needs Node 20\.19 or newer, and this is Node 18\.20\.4/),
    });
  });
});

it.each([[["--help"]], [["token", "create", "--help"]], [["doctor"]]])("breaks no word of %j in a terminal of 40 columns", async (argv) => {
  await using cli = await openCliHome();
  await using terminal = runInTerminal(cli, argv, { cols: 40, env: { NO_COLOR: "1" } });
  const { code, shown } = await terminal.end();
  expect(code).toBe(0);
  const lines = shown.split("\n").filter((line) => !line.endsWith("..."));
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.filter((line) => line.length > 40 && line.trim().includes(" "))).toEqual([]);
});

describe("belljar doctor", () => {
  it("shows what is enforced, as text and as JSON", async () => {
    await using cli = await openCliHome();
    const report = await cli.run(["doctor"]);
    expect(report).toMatchObject({ code: 0, stdout: expect.stringContaining("Runtime namespace: sandboxes can be made here") });
    const remedies = report.stdout.match(/-> (?!As for ).*/g) ?? [];
    expect(new Set(remedies).size, "each remedy is told once").toBe(remedies.length);
    const isolation = JSON.parse((await cli.run(["doctor", "--json"])).stdout) as unknown;
    expect(isolation).toMatchObject({
      runtime: "namespace",
      available: true,
      checks: expect.arrayContaining([expect.objectContaining({ state: "enforced" })]),
    });
  });
});
