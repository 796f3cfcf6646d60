import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome } from "../support/served-home.ts";
import { startBelljar } from "../support/started-belljar.ts";

/** Three renewals fit in it even on a busy machine. */
const LIFE_MS = 6_000;

/** `belljar mcp` as a host starts it. */
async function connect(home: TestHome, ...argv: string[]) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, "mcp", ...argv],
    env: { ...home.env, BELLJAR_SANDBOX_TIMEOUT_MS: String(LIFE_MS) },
    cwd: home.path,
    stderr: "inherit",
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return {
    pid: transport.pid ?? 0,
    async call(name: string, args: Record<string, unknown>) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const texts = (content as { type: string; text?: string }[]).map(({ text = "" }) => text);
      return { texts, isError: isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

it("a default sandbox lives as long as a host is connected, ends at its deadline after a kill -9, and the model is told", async () => {
  await using home = await openTestHome();
  await using events = startBelljar(home, "sandbox", "events", "--json");
  await events.line(/"resync"/);
  const host = await connect(home);
  await using _host = host;
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
  expect(JSON.parse(await events.line(/"ended"/))).toMatchObject({ sandbox, reason: "deadline" });
  await using next = await connect(home);
  const { texts, isError } = await next.call("read_file", { path: "note.txt" });
  expect(isError).toBe(true);
  expect(texts[0]).toMatch(
    /^Note: this is a new sandbox\. The earlier one ended at \S+Z: nobody was connected or used it until its deadline/,
  );
  expect(texts.join("\n")).toContain("FILE_NOT_FOUND");
  expect((await next.call("run_command", { command: "true" })).texts.join("\n")).not.toContain("new sandbox");
});
