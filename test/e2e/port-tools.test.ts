import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { CLI, openTestHome } from "../support/served-home.ts";
import { shownData, shownText } from "../support/shown-result.ts";

const SERVER = `require("node:http").createServer((q, r) => r.end("hello " + q.url)).listen(8000, "127.0.0.1", () => console.log("ready"))`;

it("belljar mcp opens a listener of its own for the first link, and closes it when it ends", async () => {
  await using home = await openTestHome();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env: { ...home.env }, cwd: home.path }));
  const started = `mkfifo /tmp/said; node -e '${SERVER}' > /tmp/said & head -1 /tmp/said`;
  expect(shownText(await client.callTool({ name: "run_command", arguments: { command: started } }))).toMatch(/\[exit_code: 0, /);
  const made = await client.callTool({ name: "register_port", arguments: { port: 8000 } });
  const { path_url: url, listening } = shownData(made) as { path_url: string; listening: boolean };
  expect(listening).toBe(true);
  expect(await (await fetch(url)).text()).toBe("hello /");
  expect(shownData(await client.callTool({ name: "list_ports", arguments: {} }))).toMatchObject({
    ports: [{ port: 8000, address: "127.0.0.1" }],
  });
  await client.close();
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});
