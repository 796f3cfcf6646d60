import { mkdirSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { type CliHome, openCliHome } from "../support/belljar-cli.ts";
import { openBuildLab } from "../support/build-lab.ts";

function writeContext({ folder }: CliHome, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, "context"), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, "context", name), content);
}

it("belljar template build makes a template of a folder, and tells its steps as it does them", async () => {
  await using cli = await openCliHome();
  writeContext(cli, { Dockerfile: 'FROM base\nARG WHO\nCOPY note /srv/\nRUN echo "hello $WHO" >> /srv/note\n', note: "a note\n" });
  const build = ["template", "build", "noted", "--context", "context", "--build-arg", "WHO=you"];
  const first = await cli.run(build);
  expect(first).toMatchObject({ code: 0, stdout: "noted\n" });
  expect(first.stderr).toContain('RUN echo "hello $WHO" >> /srv/note');
  const id = (await cli.run(["sandbox", "create", "--template", "noted"])).stdout.trim();
  expect(await cli.run(["exec", id, "cat", "/srv/note"])).toMatchObject({ code: 0, stdout: "a note\nhello you\n" });
  expect((await cli.run(["sandbox", "kill", id])).code).toBe(0);
  const again = await cli.run(build);
  expect(again.stderr.match(/as built before/g)).toHaveLength(2);
  expect((await cli.run(["template", "list"])).stdout).toContain("Dockerfile from base");
  expect((await cli.run(["template", "remove", "noted"])).code).toBe(0);
  expect((await cli.run(["template", "prune"])).stdout).toMatch(/^2 kept steps removed/);
});

it("a secret of a file or a variable is shown to one command", async () => {
  await using cli = await openCliHome();
  const run = "RUN --mount=type=secret,id=file --mount=type=secret,id=SHOWN,env=A cat /run/secrets/file; echo $A | cut -c 1-3";
  writeContext(cli, { Dockerfile: `FROM base\n${run}\n`, token: "value-of-a-file" });
  const secrets = ["--secret", "id=file,src=context/token", "--secret", "id=SHOWN"];
  const env = { SHOWN: "abcdefgh-of-a-variable" };
  const built = await cli.run(["template", "build", "shown", "--context", "context", ...secrets], { env });
  expect(built).toMatchObject({ code: 0, stderr: expect.stringContaining("[secret file]abc\n") as string });
  expect(await cli.run(["template", "build", "shown", "--context", "context", "--secret", "id=NOT_SET"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("NOT_SET") as string,
  });
});

it("the minimal example is a template", async () => {
  await using cli = await openCliHome();
  const example = join(import.meta.dirname, "../../examples/templates/minimal");
  expect(await cli.run(["template", "build", "minimal", "--context", example])).toMatchObject({ code: 0 });
  const id = (await cli.run(["sandbox", "create", "--template", "minimal"])).stdout.trim();
  expect((await cli.run(["exec", id, "sh", "-c", "whoami; pwd; cat greeting.txt"])).stdout).toBe(
    "user\n/srv/minimal\nhello from a template\n",
  );
});

it("a build that fails says which line did, and with what output", async () => {
  await using cli = await openCliHome();
  writeContext(cli, { other: "FROM base\nRUN echo why >&2; exit 7\n" });
  const failed = await cli.run(["template", "build", "bad", "-f", "context/other", "--context", "context"]);
  expect(failed.code).not.toBe(0);
  expect(failed.stderr).toMatch(/Line 2 of the Dockerfile failed with exit code 7; its last output:\nwhy/);
  expect((await cli.run(["template", "build", "bad", "--context", "context"])).stderr).toContain("Dockerfile");
});

it("a server's build is followed, and is told as failed once that server has died", async () => {
  await using cli = await openCliHome();
  writeContext(cli, { Dockerfile: "FROM base\nRUN echo begun; sleep 600\n" });
  const { stdout } = await cli.run(["token", "create", "person", "--scope", "workspaces"]);
  const serve = async () => {
    const server = cli.start(["serve", "--port", "0"]);
    const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
    return { server, url, env: { BELLJAR_URL: url, BELLJAR_TOKEN: stdout.trim() } };
  };
  const first = await serve();
  await using build = cli.start(["template", "build", "slow", "--context", "context"], { env: first.env });
  await build.says(/\nbegun\n/);
  const [id = ""] = await readdir(join(cli.home, "templates/builds"));
  first.server.signal("SIGKILL");
  expect((await build.exit).code).not.toBe(0);
  const second = await serve();
  await using _second = second.server;
  const answer = await fetch(`${second.url}/v1/templates/slow/builds/${id}`, { headers: { authorization: `Bearer ${stdout.trim()}` } });
  expect(await answer.json()).toMatchObject({ id, state: "failed", error: { message: expect.stringContaining("has ended") as string } });
});

it("a build on a server that its caller leaves is stopped", async () => {
  await using cli = await openCliHome();
  writeContext(cli, { Dockerfile: "FROM base\nRUN echo begun; sleep 600\n" });
  const { stdout } = await cli.run(["token", "create", "person", "--scope", "workspaces"]);
  await using server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  const env = { BELLJAR_URL: url, BELLJAR_TOKEN: stdout.trim() };
  await using build = cli.start(["template", "build", "slow", "--context", "context"], { env });
  await build.says(/\nbegun\n/);
  build.signal("SIGINT");
  await build.exit;
  const [id = ""] = await readdir(join(cli.home, "templates/builds"));
  const answer = await fetch(`${url}/v1/templates/slow/builds/${id}`, { headers: { authorization: `Bearer ${stdout.trim()}` } });
  expect(await answer.json()).toMatchObject({ state: "failed", error: { code: "CANCELLED" } });
  expect((await cli.run(["sandbox", "list", "--quiet"], { env })).stdout).toBe("");
});

it("a build that is killed with -9 leaves what a sweep removes, and the steps that it had done", async () => {
  await using cli = await openCliHome();
  await using lab = await openBuildLab();
  const { home, runtimeDirectory, storage } = lab.home.crash;
  writeContext(cli, { Dockerfile: `FROM ${lab.image}\nRUN echo done > /srv/done\nRUN echo begun; sleep 600\n` });
  const env = { BELLJAR_HOME: home, BELLJAR_RUNTIME_DIRECTORY: runtimeDirectory, BELLJAR_STORAGE: storage };
  const build = cli.start(["template", "build", "built", "--context", "context"], { env });
  await build.says(/\nbegun\n/);
  build.signal("SIGKILL");
  await build.exit;
  await lab.home.sandboxes.sweep();
  await lab.home.sweepOld();
  const left = await readdir(join(home, "templates"));
  expect(left.filter((name) => name.length === 20)).toEqual([]);
  expect(await lab.home.layers()).toHaveLength(2);
  await lab.build(`FROM ${lab.image}\nRUN echo done > /srv/done`);
  expect(lab.hits()).toBe(1);
  await lab.home.templates.remove(LOCAL, "built");
  await lab.home.templates.prune(LOCAL);
  expect(await lab.home.layers()).toEqual([]);
});

it("the context of a build on a server is that server's folder, and only the Dockerfile is read here", async () => {
  await using cli = await openCliHome();
  writeContext(cli, { other: "FROM base\nCOPY note /srv/\n" });
  await using server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  const { stdout } = await cli.run(["token", "create", "person", "--scope", "workspaces"]);
  const env = { BELLJAR_URL: url, BELLJAR_TOKEN: stdout.trim() };
  const build = ["template", "build", "far", "--context", "/only/there"];
  expect((await cli.run([...build, "-f", "context/other"], { env })).stderr).toContain("no folder /only/there on the machine of the home");
  expect((await cli.run(build, { env })).stderr).toContain("There is no /only/there/Dockerfile on this machine");
});
