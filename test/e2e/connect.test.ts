import { lstatSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

interface Server {
  readonly command: string;
  readonly args: string[];
}

/** Hosts' own files lie in the user's home and in the project: both are the test's. */
function openHosts(cli: CliHome) {
  const env = { HOME: cli.folder, XDG_CONFIG_HOME: join(cli.folder, ".config") };
  const project = join(cli.folder, "project");
  mkdirSync(project);
  const path = (name: string): string => join(/^\.(config|codex)\//.test(`${name}/`) ? cli.folder : project, name);
  return {
    project,
    path,
    connect: (...argv: string[]) => cli.run(["connect", ...argv], { env, cwd: project }),
    read: (name: string): unknown => JSON.parse(readFileSync(path(name), "utf8")),
  };
}

const FILES = [
  ["claude", ".mcp.json", "mcpServers"],
  ["claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"],
  ["cursor", ".cursor/mcp.json", "mcpServers"],
  ["vscode", ".vscode/mcp.json", "servers"],
] as const;

describe("belljar connect", () => {
  it.each(FILES)("writes %s's %s once, with a server that a client can start", async (host, file, key) => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    expect(await hosts.connect(host)).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining(file) });
    const written = hosts.read(file) as Record<string, Record<string, Server>>;
    const server = written[key]?.["belljar"];
    expect(server).toMatchObject({ command: process.execPath });
    expect(server?.args.at(-1)).toBe(hosts.project);
    expect(await hosts.connect(host)).toMatchObject({ code: 0, stderr: expect.stringContaining("already") });
    expect(hosts.read(file)).toEqual(written);
  });

  it("gives a client a server that lists tools", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    await hosts.connect("claude");
    const { command, args } = (hosts.read(".mcp.json") as { mcpServers: { belljar: Server } }).mcpServers.belljar;
    const client = new Client({ name: "test", version: "1" });
    const env = { BELLJAR_STORAGE: "home", BELLJAR_RUNTIME_DIRECTORY: join(cli.folder, "run") };
    await client.connect(new StdioClientTransport({ command, args, env, stderr: "inherit" }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("run_command");
    await client.close();
  });

  it("leaves all else in a file as it was: comments, other servers, the mode, a link", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    const text = '{\n  // mine\n  "servers": {\n    "other": { "type": "http", "url": "https://example.com" },\n  },\n}\n';
    mkdirSync(hosts.path(".vscode"));
    writeFileSync(hosts.path("real.json"), text, { mode: 0o600 });
    symlinkSync("../real.json", hosts.path(".vscode/mcp.json"));
    await hosts.connect("vscode");
    const after = readFileSync(hosts.path("real.json"), "utf8");
    expect(after).toMatch(/^\{\n {2}\/\/ mine\n/);
    const others = { other: { type: "http", url: "https://example.com" }, belljar: { type: "stdio" } };
    expect(JSON.parse(after.replaceAll(/\/\/ mine|,(?=\s*[}\]])/g, ""))).toMatchObject({ servers: others });
    expect(statSync(hosts.path("real.json")).mode & 0o777).toBe(0o600);
    expect(lstatSync(hosts.path(".vscode/mcp.json")).isSymbolicLink()).toBe(true);
    expect(readdirSync(hosts.path(".vscode"))).toEqual(["mcp.json"]);
  });

  it("adds a table to Codex's file, and replaces none", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    mkdirSync(hosts.path(".codex"));
    writeFileSync(hosts.path(".codex/config.toml"), '# mine\nmodel = "x"');
    expect(await hosts.connect("codex")).toMatchObject({ code: 0 });
    const text = readFileSync(hosts.path(".codex/config.toml"), "utf8");
    expect(text).toMatch(/^# mine\nmodel = "x"\n\n\[mcp_servers.belljar\]\n/);
    expect(parseToml(text)).toMatchObject({ model: "x", mcp_servers: { belljar: { command: process.execPath } } });
    expect(await hosts.connect("codex", "--workspace", "/")).toMatchObject({ code: 1, stderr: expect.stringContaining("--name") });
    expect(await hosts.connect("codex", "--workspace", "/", "--name", "whole")).toMatchObject({ code: 0 });
  });

  it("breaks no file that it cannot read", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    for (const text of ["not json", "[1]", '{"mcpServers": ']) {
      writeFileSync(hosts.path(".mcp.json"), text);
      expect(await hosts.connect("claude")).toMatchObject({ code: 1, stderr: expect.stringContaining("left as it is") });
      expect(readFileSync(hosts.path(".mcp.json"), "utf8")).toBe(text);
    }
  });

  it("prints instead of writing, and bridges to a server", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    const printed = await hosts.connect("claude", "--print", "--gateway", "http://127.0.0.1:6060", "--token-file", "/t");
    const { args } = (JSON.parse(printed.stdout) as { mcpServers: { belljar: Server } }).mcpServers.belljar;
    expect(args.slice(1)).toEqual(["mcp", "--gateway", "http://127.0.0.1:6060", "--token-file", "/t"]);
    expect(readdirSync(hosts.project)).not.toContain(".mcp.json");
  });

  it("names the hosts that there are", async () => {
    await using cli = await openCliHome();
    expect(await openHosts(cli).connect("emacs")).toMatchObject({ code: 2, stderr: expect.stringContaining("claude-desktop, cursor") });
  });
});
