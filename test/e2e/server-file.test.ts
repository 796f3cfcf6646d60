import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { hubServer } from "../support/hub-lab.ts";
import { CLI, openTestHome } from "../support/served-home.ts";

it("has a server of a file that a sandbox may write wait, until a person at the machine approves it, for every later process", async () => {
  await using home = await openTestHome();
  const folder = join(home.path, "work");
  await mkdir(folder);
  const file = join(folder, "mcp.json");
  await writeFile(file, JSON.stringify({ mcpServers: { memo: hubServer() } }));
  const args = [CLI, "mcp", "--workspace", `${folder}:rw`, "--mcp-config", file];
  const open = async (): Promise<Client> => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...home.env }, stderr: "ignore" }));
    return client;
  };
  const isThere = async (client: Client): Promise<boolean> =>
    (await client.listTools()).tools.some(({ name }) => name === "mcp_memo_count");
  const client = await open();
  const listed = new Promise<void>((resolve) =>
    client.setNotificationHandler("notifications/tools/list_changed", async () => {
      if (await isThere(client)) resolve();
    }),
  );
  try {
    expect(await isThere(client)).toBe(false);
    expect(await home.belljar("server", "list")).toMatch(/^memo +needs_approval +sandbox/m);
    expect(await home.belljar("server", "info", "memo")).toMatch(/^runs +node --input-type=module/m);
    expect(await home.belljar("server", "approve", "memo", "--yes")).toContain("memo is approved");
    if (!(await isThere(client))) await listed;
  } finally {
    await client.close();
  }
  const again = await open();
  try {
    expect(await again.callTool({ name: "mcp_memo_count" })).toMatchObject({ content: [{ type: "text", text: "1" }] });
  } finally {
    await again.close();
  }
  expect(await home.belljar("server", "list")).not.toContain("memo");
}, 60_000);
