import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type CliHome, openCliHome, type StartedCli } from "../support/belljar-cli.ts";
import { type OAuthServer, openOAuthServer } from "../support/oauth-server.ts";
import { openTestHome, openTestServer, type TestHome } from "../support/served-home.ts";
import { use } from "../support/use-tool.ts";

const ADDRESS = /(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)\r?\n/;

/** A command of this person, in the home of a running Belljar. */
const inHome = ({ path }: TestHome, ...argv: string[]) => [...argv, "--home", join(path, ".belljar")];

async function browse(login: StartedCli, far: OAuthServer): Promise<void> {
  const [, address = ""] = await login.says(ADDRESS);
  await fetch(await far.browse(address));
}

async function logIn(cli: CliHome, far: OAuthServer, argv: readonly string[]) {
  await using login = cli.start([...argv, "--no-browser"]);
  await browse(login, far);
  return await login.exit;
}

const echo = async (url: string, server: string): Promise<string> => {
  const { content } = await use(new URL(`${url}/mcp`), `mcp_${server}_echo`, { text: "hi" });
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
};

it("logs in to servers of the home and of a file, for a Belljar that runs, and out again", async () => {
  await using far = await openOAuthServer();
  await using home = await openTestHome();
  await using cli = await openCliHome();
  const file = join(cli.folder, "mcp.json");
  await writeFile(file, JSON.stringify({ mcpServers: { filed: { url: far.url, auth: { type: "oauth" } } } }));
  await using server = await openTestServer(home, 0, "--mcp-config", file);
  const ask = (...argv: string[]) => cli.run(["server", ...argv], { env: { BELLJAR_URL: server.url } });
  await cli.run(inHome(home, "server", "add", "far", "--url", far.url));
  // Both want a login, and say the command of it.
  const before = await ask("restart", "far");
  expect(before).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("run `belljar server login far` where Belljar runs") as unknown,
  });
  const filed = `run \`belljar server login filed --mcp-config ${file}\``;
  expect((await ask("restart", "filed")).stdout).toContain(filed);
  expect((await ask("list")).stdout).toMatch(/^far +needs_login +none/m);

  const done = await logIn(cli, far, inHome(home, "server", "login", "filed", "--mcp-config", file));
  expect(done).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining(`Logged in to "filed" at ${far.origin}.`) as unknown });
  for (const name of ["far", "filed"]) {
    // Both have one address, so one login.
    expect(await ask("restart", name)).toMatchObject({ code: 0, stdout: `${name} is ready, with 1 tool\n` });
    expect(await echo(server.url, name)).toBe("hi");
  }
  const out = await cli.run(inHome(home, "server", "logout", "far"));
  expect(out.stderr).toContain("its authorization server has taken it back");
  expect((await ask("restart", "far")).stdout).toContain("server login far");
  expect(await echo(server.url, "far")).toContain("server login far");
  for (const token of far.given)
    expect(`${done.stderr}${await readFile(file, "utf8")}${(await ask("logs", "far")).stdout}`).not.toContain(token);
}, 120_000);

it("has what came over HTTP use no login of the person's, but one of its own", async () => {
  await using far = await openOAuthServer();
  await using home = await openTestHome();
  await using cli = await openCliHome();
  const config = join(cli.folder, "mcp.json");
  await writeFile(config, JSON.stringify({ mcpServers: { far: { url: far.url } } }));
  expect(await logIn(cli, far, inHome(home, "client", "login", "far", "--config", config))).toMatchObject({ code: 0 });
  await using server = await openTestServer(home);
  const ask = (...argv: string[]) => cli.run(["server", ...argv], { env: { BELLJAR_URL: server.url } });
  const network = far.origin.replace("http://", "");
  expect(await ask("add", "sly", "--url", far.url, "--network", network)).toMatchObject({ code: 0 });
  expect((await ask("restart", "sly")).stdout).toContain("server login sly");
  expect(await logIn(cli, far, inHome(home, "server", "login", "sly"))).toMatchObject({ code: 0 });
  expect((await ask("restart", "sly")).stdout).toBe("sly is ready, with 1 tool\n");
}, 120_000);

it("logs in to a server of a Belljar elsewhere, with a browser here", async () => {
  await using far = await openOAuthServer();
  await using home = await openTestHome();
  await using cli = await openCliHome();
  await using server = await openTestServer(home);
  const network = far.origin.replace("http://", "");
  const created = JSON.parse(
    await home.belljar("token", "create", "ann", "--scope", "servers", "--scope", `network:${network}`, "--json"),
  ) as {
    token: string;
  };
  const env = { BELLJAR_URL: server.url, BELLJAR_TOKEN: created.token };
  expect(await cli.run(["server", "add", "far", "--url", far.url], { env })).toMatchObject({ code: 0 });
  expect((await cli.run(["server", "restart", "far"], { env })).stdout).toContain("POST /v1/servers/far/login");
  await using login = cli.start(["server", "login", "far", "--no-browser"], { env });
  await browse(login, far);
  expect(await login.exit).toMatchObject({ code: 0, stderr: expect.stringContaining('Logged in to "far".') as unknown });
  expect((await cli.run(["server", "list"], { env })).stdout).toMatch(/^far +(?:ready|stopped)/m);
  const wrong = await cli.run(["server", "login", "far", "--owner", "ann"], { env });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--owner is for the home") as unknown });
}, 120_000);

it("refuses what nobody logs in to, and says why", async () => {
  await using cli = await openCliHome();
  const file = join(cli.folder, "mcp.json");
  const url = "http://127.0.0.1:1/mcp";
  const headers = { Authorization: "Bearer x" };
  await writeFile(file, JSON.stringify({ mcpServers: { one: { command: "true" }, two: { url, headers }, bad: {} } }));
  await cli.run(["server", "add", "far", "--url", url]);
  const cases: readonly (readonly [argv: readonly string[], code: number, problem: string, env?: Record<string, string>])[] = [
    [["one", "--mcp-config", file], 2, "is a program"],
    [["two", "--mcp-config", file], 2, "say who calls"],
    [["bad", "--mcp-config", file], 1, "bad"],
    [["gone", "--mcp-config", file], 1, "names no server"],
    [["one", "--mcp-config", file, "--owner", "ann"], 2, "leave --owner out"],
    [["gone"], 1, "--mcp-config"],
    [["far", "--owner", "ann"], 1, "no MCP server"],
    [["far"], 1, "cannot be reached"],
  ];
  for (const [argv, code, problem, env = {}] of cases)
    for (const command of problem === "cannot be reached" ? ["login"] : ["login", "logout"])
      expect(await cli.run(["server", command, ...argv], { env }), argv.join(" ")).toMatchObject({
        code,
        stderr: expect.stringContaining(problem) as unknown,
      });
}, 120_000);
