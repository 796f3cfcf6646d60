import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";

/** The servers of one host, one of which would leave a file behind if it was started. */
function writeServers(folder: string): void {
  mkdirSync(join(folder, ".cursor"));
  const env = { "PATH\u001b[31m": "s3cret" };
  const servers = {
    starts: { command: "/usr/bin/touch", args: [join(folder, "started")] },
    "red\u001b[31m": { url: "http://a.example/s3cret", env, disabled: true },
  };
  writeFileSync(join(folder, ".cursor/mcp.json"), JSON.stringify({ mcpServers: servers }));
}

it("lists the servers of other hosts for people and for programs, and starts none", async () => {
  await using cli = await openCliHome();
  writeServers(cli.folder);
  const env = { HOME: cli.folder, XDG_CONFIG_HOME: "", CODEX_HOME: "" };
  const shown = await cli.run(["client", "discover"], { env });
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  const [heading, ...rows] = shown.stdout
    .trim()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  const file = join(cli.folder, ".cursor/mcp.json");
  expect(heading).toEqual(["HOST", "SERVER", "TRANSPORT", "TARGET", "STATE", "FILE"]);
  expect(rows).toEqual([
    ["cursor", "starts", "stdio", "/usr/bin/touch", "enabled", file],
    ["cursor", "red\\u{1b}[31m", "http", "http://a.example", "disabled", file],
  ]);
  const listed = JSON.parse((await cli.run(["client", "discover", "--json"], { env })).stdout) as { servers: { name: string }[] };
  expect(listed.servers.map(({ name }) => name)).toEqual(["starts", "red\u001b[31m"]);
  expect(existsSync(join(cli.folder, "started"))).toBe(false);
});

it("says that no host has a server", async () => {
  await using cli = await openCliHome();
  const env = { HOME: cli.folder, XDG_CONFIG_HOME: "", CODEX_HOME: "" };
  expect(await cli.run(["client", "discover"], { env })).toMatchObject({ code: 0, stdout: "", stderr: "No host has an MCP server.\n" });
});
