import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { hubServer } from "../support/hub-lab.ts";
import { writeMcpConfig } from "../support/mcp-config.ts";
import { CLI, openTestHome, openTestServer, type TestHome } from "../support/served-home.ts";
import { use, useTool } from "../support/use-tool.ts";

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

function textOf({ content }: Awaited<ReturnType<typeof use>>): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

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

it("serves tools that no list shows to searches and scripts, and tells new clients of them", async () => {
  const searched = join(folder, "searched.json");
  await writeFile(searched, JSON.stringify({ mcpServers: { one: hubServer({ list: "search" }) } }));
  await using server = await openTestServer(home, 0, "--mcp-config", searched);
  const script = { code: "return [await tools.one.count(), await tools.mcp_one_count()];" };
  const { content } = await use(new URL(`${server.url}/mcp`), "execute_tools_script", script);
  expect(content).toMatchObject([{ text: '["1","2"]' }, { text: expect.stringMatching(/^\[calls: 2/) }]);
  const { instructions } = await use(new URL(`${server.url}/mcp`), "search_tools", { query: "count" });
  expect(instructions).toMatch(/\n\d+ tools of MCP servers are in no list: .*search_tools.* They are of: one \d+\.\n/);
});

it("serves a one-shot client from its first start on, with tools that its list did not show", async () => {
  await using fresh = await openTestHome();
  await using cli = await openCliHome();
  const hidden = join(folder, "hidden.json");
  await writeFile(hidden, JSON.stringify({ mcpServers: { one: hubServer({ list: "search", approve: "always" }) } }));
  const bj = { command: process.execPath, args: [CLI, "mcp", "--mcp-config", hidden], env: { ...fresh.env } };
  const config = writeMcpConfig(cli.folder, { bj });
  const call = (...argv: string[]) => cli.run(["client", "call", "bj", ...argv, "--config", config]);
  expect(await call("execute_tools_script", "code=return 7;")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^7\n/) });
  const asked = await call("mcp_one_count");
  expect(asked, "nobody was asked, so nobody refused").toMatchObject({ code: 1, stderr: expect.stringMatching(/^APPROVAL_NEEDED: /m) });
  expect(asked.stderr, "the question stays in lines").toMatch(/^belljar: The server "bj" asks, [^]* Its arguments:\n {2}\{\}\n/m);
  const [, id = ""] = /approval give ([0-9a-f]{16}),/.exec(asked.stderr) ?? [];
  expect(await cli.run(["approval", "give", id, "--home", join(fresh.path, ".belljar")])).toMatchObject({ code: 0 });
  expect(await call("mcp_one_count")).toMatchObject({ code: 0, stdout: "1\n" });
  const slip = await call("execute_cod", "code=1");
  expect(slip).toMatchObject({ code: 2, stderr: expect.stringContaining('lists no tool "execute_cod". Did you mean "execute_code"?') });
}, 120_000);

it("has a person approve a call at the command line, once", async () => {
  const held = join(folder, "held.json");
  await writeFile(held, JSON.stringify({ mcpServers: { one: hubServer({ approve: "always" }) } }));
  await using server = await openTestServer(home, 0, "--mcp-config", held);
  await using cli = await openCliHome();
  const approval = (...argv: string[]) => cli.run(["approval", ...argv, "--home", join(home.path, ".belljar")]);
  const call = async () => textOf(await use(new URL(`${server.url}/mcp`), "mcp_one_count", {}));
  const idIn = (text: string): string => /approval give ([0-9a-f]{16}),/.exec(text)?.[1] ?? "";
  const refused = await call();
  const id = idIn(refused);
  expect(refused).toMatch(/^APPROVAL_NEEDED: A person must approve this call of mcp_one_count: /);
  expect((await approval("list")).stdout).toMatch(new RegExp(`^${id} +mcp_one_count +local +waits `, "m"));
  expect((await approval("info", id)).stdout).toMatch(/^A model wants to call the tool mcp_one_count, .* "one"\. Its arguments:\n\{\}\n$/);
  expect(await approval("give", id)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Approved once, until /) });
  expect(await call()).toBe("1");
  const again = idIn(await call());
  expect(await approval("refuse", again)).toMatchObject({ code: 0, stdout: `${again}\n` });
  expect(await approval("list")).toMatchObject({ code: 0, stderr: expect.stringMatching(/^No call waits for you on this home, /) });
  expect(await approval("give", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("waits for a person") });
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
