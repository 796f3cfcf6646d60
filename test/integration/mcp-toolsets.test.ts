import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome } from "../support/served-home.ts";

let home: TestHome;

beforeAll(async () => {
  home = await openTestHome();
});
afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
});

async function withServer<T>(argv: readonly string[], work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp", ...argv], env: { ...home.env } }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const listNames = async (client: Client): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);

it("serves the toolsets that were named, and no other", async () => {
  await withServer(["--toolsets", "shell"], async (client) => {
    const names = await listNames(client);
    expect(names).toContain("run_command");
    expect(names).not.toContain("read_file");
    const refused = await client.callTool({ name: "read_file", arguments: { path: "a" } });
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("FORBIDDEN") }] });
  });
});

it("shows every tool when asked for all", async () => {
  const byDefault = await withServer([], listNames);
  expect(byDefault.length).toBeLessThanOrEqual(43);
  const all = await withServer(["--toolsets", "all"], listNames);
  expect(all).toEqual(expect.arrayContaining(["sandbox_fork", "sandbox_read_file", "run_command"]));
  expect(all).not.toContain("search_tools");
});

it("leaves what only reads", async () => {
  await withServer(["--read-only"], async (client) => {
    const { tools } = await client.listTools();
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([]);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["read_file", "list_directory"]));
    expect(await client.callTool({ name: "write_file", arguments: { path: "a", content: "" } })).toMatchObject({ isError: true });
  });
});

it("refuses to start with a toolset that there is not", async () => {
  await expect(home.belljar("mcp", "--toolsets", "nope")).rejects.toThrow(/no toolset "nope"/);
});
