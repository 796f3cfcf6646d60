import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { CLI, openTestHome } from "../support/served-home.ts";

it("a command that runs out of time goes on in a real sandbox, and the call that its result names follows it", async () => {
  await using home = await openTestHome();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env: { ...home.env }, stderr: "ignore" }));
  await using _closed = { [Symbol.asyncDispose]: () => client.close() };
  const call = async (name: string, args: Record<string, unknown>) => {
    const { content } = await client.callTool({ name, arguments: args });
    return (content as { type: string; text?: string }[]).map(({ text = "" }) => text).join("\n");
  };
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
