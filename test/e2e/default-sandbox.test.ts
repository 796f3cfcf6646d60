import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome } from "../support/served-home.ts";
import { startBelljar } from "../support/started-belljar.ts";

/** Three renewals fit in it even on a busy machine. */
const LIFE_MS = 6_000;

/** `belljar mcp` as a host starts it. */
async function connect(home: TestHome, argv: readonly string[] = [], lifeMs = 3_600_000) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, "mcp", ...argv],
    env: { ...home.env, BELLJAR_SANDBOX_TIMEOUT_MS: String(lifeMs) },
    cwd: home.path,
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return {
    said: () => said,
    instructions: () => client.getInstructions() ?? "",
    pid: transport.pid ?? 0,
    async call(name: string, args: Record<string, unknown>) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const texts = (content as { type: string; text?: string }[]).map(({ text = "" }) => text);
      return { texts, isError: isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

it("a default sandbox lives as long as a host is connected, is stopped at its deadline after a kill -9, and runs again with its files: the model is told", async () => {
  await using home = await openTestHome();
  await using events = startBelljar(home, "sandbox", "events", "--json");
  await events.line(/"resync"/);
  await using host = await connect(home, [], LIFE_MS);
  await host.call("run_command", { command: "echo kept > note.txt" });
  const { sandbox } = JSON.parse(await events.line(/"created"/)) as { sandbox: string };
  const { createdAt } = JSON.parse(await home.belljar("sandbox", "info", sandbox, "--json")) as { createdAt: string };
  const firstDeadline = Date.parse(createdAt) + LIFE_MS;
  for (let deadline = 0; deadline < firstDeadline + LIFE_MS / 2;) {
    await events.line(/"changed"/);
    deadline = Date.parse((JSON.parse(await home.belljar("sandbox", "info", sandbox, "--json")) as { deadline: string }).deadline);
  }
  expect((await host.call("run_command", { command: "cat note.txt" })).texts.join("\n")).toContain("kept");
  process.kill(host.pid, "SIGKILL");
  const info = async () => JSON.parse(await home.belljar("sandbox", "info", sandbox, "--json")) as { state: string; keptUntil?: string };
  while ((await info()).state !== "stopped") await events.line(/"changed"/);
  expect(Date.parse((await info()).keptUntil ?? "")).toBeGreaterThan(Date.now() + 6 * 86_400_000);
  await using next = await connect(home, [], LIFE_MS);
  const { texts, isError } = await next.call("read_file", { path: "note.txt" });
  expect(isError).toBe(false);
  expect(texts[0]).toMatch(
    /^Note: this sandbox was stopped at \S+Z \(nobody was connected or used it until its deadline\), and runs again\. Its files are as they were/,
  );
  expect(texts.join("\n")).toContain("kept");
  expect((await next.call("run_command", { command: "true" })).texts.join("\n")).not.toContain("was stopped");
});

it("a call starts a stopped sandbox that it names, a look and a kill do not, and commands say that they start it", async () => {
  await using home = await openTestHome();
  await using host = await connect(home);
  const made = await host.call("sandbox", { action: "create" });
  const id = /"id":\s*"([a-z0-9]{20})"/.exec(made.texts.join(""))?.[1] ?? "";
  await home.belljar("exec", id, "--", "sh", "-c", "echo kept > note.txt");
  await home.belljar("sandbox", "stop", id);
  expect(await home.belljar("sandbox", "list")).toMatch(/stopped .*stopped \d+ seconds? ago|stopped .*stopped now/);
  const { texts } = await host.call("read_file", { path: "note.txt", sandbox: id });
  expect(texts[0]).toMatch(/^Note: this sandbox was stopped at \S+Z \(somebody stopped it\), and runs again/);
  expect(texts.join("\n")).toContain("kept");
  await home.belljar("sandbox", "stop", id);
  expect(JSON.parse(await home.belljar("sandbox", "info", id, "--json"))).toMatchObject({ state: "stopped" });
  expect(await home.belljar("exec", id, "--", "cat", "note.txt")).toBe("kept\n");
  await home.belljar("sandbox", "stop", id);
  await host.call("sandbox", { action: "kill", id });
  expect(JSON.parse(await home.belljar("sandbox", "info", id, "--json"))).toMatchObject({ state: "ended", endReason: "killed" });
});

it("the command line holds for a default sandbox that lives: the network at once, and what cannot change is said to both", async () => {
  await using home = await openTestHome();
  const first = await connect(home);
  await first.call("run_command", { command: "echo kept > note.txt" });
  await first[Symbol.asyncDispose]();
  const network = async () => {
    const [info] = JSON.parse(await home.belljar("sandbox", "list", "--json")) as { network: unknown; id: string }[];
    return info?.network;
  };
  expect(await network()).toBe("none");

  const wide = await connect(home, ["--network", "a.test", "--memory", "64m"]);
  const { texts } = await wide.call("read_file", { path: "note.txt" });
  expect(texts.join("\n")).toMatch(
    /^Note: The default sandbox was made earlier, with memory of 2048 MiB, not 64 MiB.*belljar sandbox kill/,
  );
  expect(texts.at(-1)).toContain("kept");
  expect((await wide.call("read_file", { path: "note.txt" })).texts.join("\n")).not.toContain("made earlier");
  expect(await network()).toEqual({ allow: ["a.test"] });
  await wide[Symbol.asyncDispose]();
  expect(wide.said()).toMatch(/^belljar: The default sandbox was made earlier.*64 MiB/m);

  await using events = startBelljar(home, "sandbox", "events", "--json");
  await events.line(/"resync"/);
  await using _narrow = await connect(home, ["--network", "none"]);
  await events.line(/"changed"/);
  expect(await network()).toBe("none");
});

it("a default sandbox that lives is not used with another workspace than the command line says", async () => {
  await using home = await openTestHome();
  const project = join(home.path, "project");
  await mkdir(project);
  const first = await connect(home, ["--workspace", `${project}:ro`]);
  await first.call("run_command", { command: "true" });
  await first[Symbol.asyncDispose]();
  await using other = await connect(home, ["--workspace", `${project}:rw`]);
  const { texts, isError } = await other.call("run_command", { command: "true" });
  expect(isError).toBe(true);
  expect(texts.join("\n")).toMatch(/WORKSPACE_CONFLICT: .*:ro\).*belljar sandbox kill/);
  await other[Symbol.asyncDispose]();
  expect(other.said()).toMatch(/^belljar: The default sandbox .* lives with another workspace/m);
});

it("a model learns where its files and its network end: in the instructions, with the first result, and beside a path of the host", async () => {
  await using home = await openTestHome();
  const project = join(home.path, "project");
  await mkdir(project);
  await using host = await connect(home, ["--workspace", project, "--network", "a.test"]);
  const files = `Files: /workspace is a copy of ${project} of the host. Your changes stay here until the person runs \`belljar apply\` in that folder.`;
  expect(host.instructions()).toContain(files);
  expect(host.instructions()).toContain("Network: only this can be reached: a.test.");
  const first = await host.call("write_file", { path: "a.txt", content: "a" });
  expect(first.texts[0]).toBe(`${files}\nNetwork: only this can be reached: a.test.`);
  expect((await host.call("read_file", { path: "a.txt" })).texts.join("\n")).not.toContain("Files:");
  const hint = `${project} of the host is /workspace here: use /workspace`;
  const missing = await host.call("read_file", { path: join(project, "a.txt") });
  expect(missing.texts.join("\n")).toMatch(/^FILE_NOT_FOUND/);
  expect(missing.texts.join("\n")).toContain(`${hint}/a.txt`);
  expect((await host.call("run_command", { command: "ls", cwd: project })).texts.join("\n")).toContain(hint);
});

it("a model in a linked worktree learns that git has no repository there", async () => {
  await using home = await openTestHome();
  const [main, linked] = [join(home.path, "main"), join(home.path, "linked")];
  const git = (...args: string[]) => execFileSync("git", ["-C", main, "-c", "user.name=a", "-c", "user.email=a@a", ...args]);
  execFileSync("git", ["init", "-q", main]);
  git("commit", "-q", "--allow-empty", "-m", "first");
  git("worktree", "add", "-q", linked);
  await using host = await connect(home, ["--workspace", linked]);
  const first = await host.call("run_command", { command: "git status" });
  expect(first.texts[0]).toMatch(/^Files: .* Git has no repository here: the folder is a linked worktree/);
  expect(first.texts.join("\n")).toContain("not a git repository");
  await using other = await connect(home, ["--workspace", main]);
  expect((await other.call("run_command", { command: "git status" })).texts.join("\n")).not.toContain("Git has no repository");
});
