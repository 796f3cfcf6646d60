import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome } from "../support/served-home.ts";

async function connect(home: TestHome, ...options: readonly string[]) {
  const client = new Client({ name: "test", version: "1" });
  const args = [CLI, "mcp", ...options];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...home.env }, stderr: "ignore" }));
  const call = async (name: string, input: Record<string, unknown>) => {
    const { content } = await client.callTool({ name, arguments: input });
    return (content as { type: string; text?: string }[]).map(({ text = "" }) => text).join("\n");
  };
  return { call, [Symbol.asyncDispose]: () => client.close() };
}

it("a command that runs out of time goes on in a real sandbox, and the call that its result names follows it", async () => {
  await using home = await openTestHome();
  await using host = await connect(home);
  const { call } = host;
  const late = await call("run_command", { command: "echo before; mkfifo go; read line <go; echo after; exit 3", timeout_ms: 2_000 });
  const next = JSON.parse(/follow it with process (\{.*\})\]$/.exec(late)?.[1] ?? "") as Record<string, unknown>;
  expect(await call("run_command", { command: "echo >go; echo woken" })).toMatch(/^woken\n/);
  let seen = "";
  for (let { offset } = next; !seen.includes("state: exited");) {
    const part: string = await call("process", { ...next, offset, wait_ms: 30_000 });
    expect(part).toMatch(/next_offset: \d+/);
    offset = Number(/next_offset: (\d+)/.exec(part)?.[1]);
    seen += part;
  }
  expect(seen).toMatch(/^after\n/);
  expect(seen).toContain("exit_code: 3");
});

it("a command starts in the workspace, in the foreground, in a session and in the background", async () => {
  await using home = await openTestHome();
  const project = join(home.path, "project");
  await mkdir(join(project, "sub"), { recursive: true });
  await using host = await connect(home, "--workspace", project);
  expect(await host.call("run_command", { command: "pwd" })).toMatch(/^\/workspace$/m);
  expect(await host.call("run_command", { command: "pwd", session: "s" })).toMatch(/^\/workspace$/m);
  for (const [cwd, folder] of [
    [undefined, "/workspace"],
    ["sub", "/workspace/sub"],
    ["/etc", "/etc"],
  ] as const) {
    const started = await host.call("run_command", { command: "pwd", background: true, ...(cwd && { cwd }) });
    const id = /process_id: (\w+)/.exec(started)?.[1];
    let seen = "";
    for (let offset = 0; !seen.includes("state: exited");) {
      const part: string = await host.call("process", { action: "output", process_id: id, offset, wait_ms: 30_000 });
      offset = Number(/next_offset: (\d+)/.exec(part)?.[1]);
      seen += part;
    }
    expect(seen.split("\n")[0]).toBe(folder);
  }
});
