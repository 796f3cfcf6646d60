import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { hubServer } from "../support/hub-lab.ts";
import { CLI, openTestHome, openTestServer, type TestHome } from "../support/served-home.ts";
import { useTool } from "../support/use-tool.ts";

let home: TestHome;
let folder: string;
let file: string;
beforeAll(async () => {
  home = await openTestHome();
  folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
  file = join(folder, "mcp.json");
  await writeFile(file, JSON.stringify({ mcpServers: { one: hubServer(), gone: { command: "no-such-program" } } }));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await home[Symbol.asyncDispose]();
});

it("serves the tools of a configuration's servers over stdio", async () => {
  const argv = [CLI, "mcp", "--mcp-config", file];
  expect(await useTool("mcp_one_count", [{ command: process.execPath, args: argv, env: { ...home.env }, stderr: "inherit" }])).toEqual([
    { type: "text", text: "1" },
  ]);
});

it("serves them over HTTP, to each client from an instance of its own", async () => {
  await using server = await openTestServer(home, 0, "--mcp-config", file);
  for (let turn = 0; turn < 2; turn += 1)
    expect(await useTool("mcp_one_count", new URL(`${server.url}/mcp`))).toEqual([{ type: "text", text: "1" }]);
});

it("shows the servers, their last words and why one fails, and starts one again", async () => {
  await using server = await openTestServer(home, 0, "--mcp-config", file);
  await useTool("mcp_one_count", new URL(`${server.url}/mcp`));
  await using cli = await openCliHome();
  const ask = (...argv: string[]) => cli.run(["server", ...argv], { env: { BELLJAR_URL: server.url } });
  expect(await ask("restart", "gone")).toMatchObject({ code: 1, stdout: expect.stringContaining("no program no-such-program") });
  const list = JSON.parse((await ask("list", "--json")).stdout) as { name: string; state: string }[];
  expect(list.map(({ name, state }) => [name, state])).toEqual([
    ["one", expect.stringMatching(/ready|stopped/)],
    ["gone", "failed"],
  ]);
  expect((await ask("list")).stdout).toMatch(/^gone +failed +sandbox +0 +0 +0 +The server "gone" did not start/m);
  expect((await ask("info", "one")).stdout).toMatch(/^tool +mcp_one_count$/m);
  expect((await ask("logs", "one")).stdout).toContain("ready to serve");
  expect((await ask("restart", "one")).stdout).toMatch(/^one is ready, with \d+ tools\n$/);
  expect(await ask("info", "other")).toMatchObject({ code: 1, stderr: expect.stringContaining('no MCP server "other"') });
  expect(await cli.run(["server", "list"])).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("BELLJAR_URL") });
  expect(await cli.run(["server", "restart", "one"])).toMatchObject({ code: 1, stderr: expect.stringContaining("BELLJAR_URL") });
});

it("says what is wrong with the file, and does not start", async () => {
  await using cli = await openCliHome();
  const missing = await cli.run(["mcp", "--mcp-config", join(folder, "absent.json")]);
  expect(missing).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("absent.json: name one with mcpServers in it") });
  const wrong = await cli.run(["mcp", "--mcp-config", folder]);
  expect(wrong).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`${folder}: it is no file`) });
});
