import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";

let home: TestHome;
let server: TestServer;

beforeAll(async () => {
  home = await openTestHome();
  server = await openTestServer(home);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
});

describe.each(["stdio", "http"] as const)("LangChain's adapters over %s", (transport) => {
  const belljar = () =>
    transport === "stdio"
      ? { transport: "stdio" as const, command: process.execPath, args: [CLI, "mcp"], env: { ...home.env } }
      : { transport: "http" as const, url: `${server.url}/mcp`, automaticSSEFallback: false };

  it("make tools of the list, and call one", async () => {
    const client = new MultiServerMCPClient({ mcpServers: { belljar: belljar() }, throwOnLoadError: true });
    try {
      const tools = await client.getTools();
      const runCommand = tools.find(({ name }) => name === "run_command");
      expect(JSON.stringify(await runCommand?.invoke({ command: "echo $((6 * 7))" }))).toContain("42");
    } finally {
      await client.close();
    }
  });
});
