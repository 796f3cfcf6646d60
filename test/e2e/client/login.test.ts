import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome, CliResult, StartedCli } from "../../support/belljar-cli.ts";
import { openCliHome } from "../../support/belljar-cli.ts";
import { writeMcpConfig } from "../../support/mcp-config.ts";
import type { OAuthServer } from "../../support/oauth-server.ts";
import { openOAuthServer } from "../../support/oauth-server.ts";
import { runInTerminal } from "../../support/person-terminal.ts";

interface Place extends AsyncDisposable {
  readonly cli: CliHome;
  readonly far: OAuthServer;
  readonly file: string;
  client(...argv: string[]): Promise<CliResult>;
  startLogin(...argv: string[]): StartedCli;
}

async function openPlace(): Promise<Place> {
  const cli = await openCliHome();
  const far = await openOAuthServer({ callScope: "read" });
  const file = writeMcpConfig(cli.folder, { far: { url: far.url } });
  return {
    cli,
    far,
    file,
    client: (...argv) => cli.run(["client", ...argv, "--config", file]),
    startLogin: (...argv) => cli.start(["client", "login", "far", "--no-browser", "--config", file, ...argv]),
    async [Symbol.asyncDispose]() {
      await far[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
}

const ADDRESS = /(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)\r?\n/;

async function addressOf(login: StartedCli): Promise<string> {
  return (await login.says(ADDRESS))[1] ?? "";
}

it("names the command of the login, and works after it, without printing a token", async () => {
  await using place = await openPlace();
  const { far } = place;
  const client = (...argv: string[]) => place.client(...argv);
  const before = await client("call", "far", "echo", "text=hi");
  expect(before).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("run `belljar client login far`") as unknown });
  const login = place.startLogin();
  // As a browser does it.
  expect((await fetch(await far.browse(await addressOf(login)))).status).toBe(200);
  const done = await login.exit;
  expect(done).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining(`Logged in to "far" at ${far.origin}.`) as unknown });
  const wire = join(place.cli.folder, "wire.jsonl");
  expect(await client("call", "far", "echo", "text=hi", "--wire", wire)).toEqual({ code: 0, stdout: "hi\n", stderr: "" });
  for (const token of far.given) expect(`${done.stderr}${readFileSync(wire, "utf8")}`).not.toContain(token);
  const folder = join(place.cli.home, "mcp-logins");
  expect([folder, ...readdirSync(folder).map((name) => join(folder, name))].map((path) => statSync(path).mode & 0o777)).toEqual([
    0o700, 0o600,
  ]);
});

it("takes the address that a person pastes, and asks on after what is none", async () => {
  await using place = await openPlace();
  const login = place.startLogin();
  const back = await place.far.browse(await addressOf(login));
  login.endInput(`\nnot an address\nhttp://\n${back.href}\n`);
  expect((await login.exit).code).toBe(0);
});

it("ends with 3 for a login that is refused, and forgets nothing else of the home", async () => {
  await using place = await openPlace();
  const login = place.startLogin();
  const back = await place.far.browse(await addressOf(login));
  const query = new URLSearchParams({ error: "access_denied", state: back.searchParams.get("state") ?? "", iss: place.far.origin });
  back.search = query.toString();
  await fetch(back);
  expect(await login.exit).toMatchObject({ code: 3, stderr: expect.stringContaining("access_denied") as unknown });
});

it("is forgotten, and taken back, by logout", async () => {
  await using place = await openPlace();
  const login = place.startLogin();
  await fetch(await place.far.browse(await addressOf(login)));
  await login.exit;
  expect((await place.client("logout", "far")).stderr).toContain("its authorization server has taken it back");
  expect(place.far.asked.at(-1)).toBe("POST /revoke");
  expect(readdirSync(join(place.cli.home, "mcp-logins"))).toEqual([]);
  expect((await place.client("call", "far", "echo", "text=hi")).code).toBe(3);
  expect((await place.client("logout", "far")).stderr).toContain("There was no login");
});

it("refuses a server that is a program, and one whose headers say who calls", async () => {
  await using cli = await openCliHome();
  const headers = { Authorization: "Bearer x" };
  const file = writeMcpConfig(cli.folder, { one: { command: "true" }, two: { url: "http://127.0.0.1:1/mcp", headers } });
  for (const name of ["one", "two", "three"]) expect((await cli.run(["client", "login", name, "--config", file])).code).toBe(2);
});

it("is offered in a terminal, once, and its call goes on", async () => {
  await using place = await openPlace();
  const argv = ["client", "call", "far", "echo", "text=hi", "--config", place.file];
  {
    await using declining = runInTerminal(place.cli, argv);
    await declining.shows(/The server "far" wants a login\.\r\nLog in now\? \[y,n\] $/);
    declining.type("n\n");
    expect((await declining.end()).code).toBe(3);
  }
  await using person = runInTerminal(place.cli, argv);
  await person.shows(/Log in now\? \[y,n\] $/);
  person.type("y\n");
  let shown = "";
  await person.shows({ test: (text: string) => ((shown = text), ADDRESS.test(text)) } as RegExp);
  await fetch(await place.far.browse(ADDRESS.exec(shown)?.[1] ?? ""));
  const { code, shown: all } = await person.end();
  expect([code, all.split("\n").at(-2)]).toEqual([0, "hi"]);
});
