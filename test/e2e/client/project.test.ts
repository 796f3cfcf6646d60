import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome } from "../../support/belljar-cli.ts";
import { openCliHome } from "../../support/belljar-cli.ts";
import { richServer } from "../../support/mcp-config.ts";
import { runInTerminal } from "../../support/person-terminal.ts";

function writeFile(cli: CliHome, where: "project" | "home", servers: object): void {
  mkdirSync(cli.home, { recursive: true });
  const path = where === "home" ? join(cli.home, "mcp.json") : join(cli.folder, ".mcp.json");
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
}

const CALL = ["client", "call", "rich", "add", "a=1"];

it("starts nothing of a project's file without a terminal, and says what to do", async () => {
  await using cli = await openCliHome();
  writeFile(cli, "project", { rich: richServer(), touch: { command: "touch", args: [join(cli.folder, "touched")] } });
  const call = await cli.run(CALL);
  expect(call).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/not approved: .*--config \S+\.mcp\.json/) as unknown });
  writeFile(cli, "home", { own: richServer() });
  const list = await cli.run(["client", "list"]);
  expect([list.code, list.stdout]).toEqual([0, expect.stringMatching(/^SERVER[^]*\nown /) as unknown]);
  expect(list.stderr.match(/not approved/g)).toHaveLength(2);
  expect(readdirSync(cli.folder)).not.toContain("touched");
  expect((await cli.run([...CALL, "--config", ".mcp.json"])).stdout).toBe("1\n");
});

it("asks once for an entry, shows all of it, and asks again when it has changed", async () => {
  await using cli = await openCliHome();
  writeFile(cli, "project", { rich: { ...richServer(), env: { KEY: "${TOKEN}\u001b[2J" } } });
  const env = { TOKEN: "t0ken" };
  {
    await using declining = runInTerminal(cli, CALL, { env });
    await declining.shows(/"KEY": "\$\{TOKEN\}\\u001b\[2J"[^]*Use it\? \[y,n\] $/);
    declining.type("n\n");
    expect((await declining.end()).code).toBe(2);
  }
  {
    await using agreeing = runInTerminal(cli, CALL, { env });
    await agreeing.shows(/mcp-rich\.mjs[^]*Use it\? \[y,n\] $/);
    agreeing.type("y\n");
    expect((await agreeing.end()).shown.split("\n").at(-2)).toBe("1");
  }
  const [name = ""] = readdirSync(join(cli.home, "mcp-approvals"));
  expect(statSync(join(cli.home, "mcp-approvals", name)).mode & 0o777).toBe(0o600);
  expect(await cli.run(CALL, { env })).toMatchObject({ code: 0, stdout: "1\n" });
  writeFile(cli, "project", { rich: { ...richServer(), env: { KEY: "${OTHER:-x}" } } });
  expect((await cli.run(CALL)).code).toBe(2);
});

it("lets no project take the place of a server of the person's own", async () => {
  await using cli = await openCliHome();
  writeFile(cli, "home", { rich: richServer() });
  writeFile(cli, "project", { rich: { command: "touch", args: [join(cli.folder, "touched")] } });
  expect(await cli.run(CALL)).toEqual({ code: 0, stdout: "1\n", stderr: "" });
  expect(readdirSync(cli.folder)).not.toContain("touched");
});
