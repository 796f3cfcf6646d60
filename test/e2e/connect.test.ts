import { execFileSync } from "node:child_process";
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
  const path = (name: string): string => join(/^\.(config|codex|codeium)\//.test(`${name}/`) ? cli.folder : project, name);
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
  ["gemini", ".gemini/settings.json", "mcpServers"],
  ["zed", ".config/zed/settings.json", "context_servers"],
  ["windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"],
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

  it("leaves what it cannot change as it should", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    const file = hosts.path(".mcp.json");
    for (const text of [
      '{"mcpServers":"x"}',
      '{"mcpServers":[]}',
      '{"mcpServers":{"belljar":{"command":"a"},"belljar":{"command":"b"}}}',
      Buffer.from('{"a":"\xff"}', "latin1"),
      `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
    ]) {
      writeFileSync(file, text);
      const refused = {
        code: 1,
        stderr: expect.stringMatching(/^belljar: Claude Code's [^\n]* is left as it is: .*\(CONFIG_INVALID\)\n$/),
      };
      expect(await hosts.connect("claude", "--force"), String(text).slice(0, 80)).toMatchObject(refused);
      expect(readFileSync(file)).toEqual(Buffer.from(text));
    }
  });

  it("writes through no link that leads out of the project or nowhere, and waits for no pipe", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    const mine = join(cli.folder, "mine.json");
    writeFileSync(mine, "{}");
    symlinkSync(mine, hosts.path(".mcp.json"));
    symlinkSync("nowhere", hosts.path("opencode.json"));
    mkdirSync(join(cli.folder, "elsewhere"));
    symlinkSync("../elsewhere", hosts.path(".cursor"));
    mkdirSync(hosts.path(".gemini"));
    execFileSync("mkfifo", [hosts.path(".gemini/settings.json")]);
    for (const host of ["claude", "opencode", "cursor", "gemini"])
      expect(await hosts.connect(host), host).toMatchObject({ code: 1, stderr: expect.stringContaining("CONFIG_INVALID") });
    expect(readFileSync(mine, "utf8")).toBe("{}");
    expect(lstatSync(hosts.path("opencode.json")).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(cli.folder, "elsewhere"))).toEqual([]);
  });

  it("adds a table to Codex's file, and replaces one with --force alone", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    mkdirSync(hosts.path(".codex"));
    writeFileSync(hosts.path(".codex/config.toml"), '# mine\nmodel = "x"');
    expect(await hosts.connect("codex")).toMatchObject({ code: 0 });
    const text = readFileSync(hosts.path(".codex/config.toml"), "utf8");
    expect(text).toMatch(/^# mine\nmodel = "x"\n\n\[mcp_servers.belljar\]\n/);
    expect(parseToml(text)).toMatchObject({ model: "x", mcp_servers: { belljar: { command: process.execPath } } });
    const refused = await hosts.connect("codex", "--workspace", "/");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/--name[^]*- \{"command":[^]*\+ \{"command":/) });
    expect(await hosts.connect("codex", "--workspace", "/", "--name", "whole")).toMatchObject({ code: 0 });
    expect(await hosts.connect("codex", "--workspace", "/", "--force")).toMatchObject({ code: 0 });
    const after = readFileSync(hosts.path(".codex/config.toml"), "utf8");
    expect(after).toMatch(/^# mine\nmodel = "x"\n\n\[mcp_servers.whole\]\n[^]*\n\n\[mcp_servers.belljar\]\n/);
    const { belljar, whole } = (parseToml(after) as unknown as { mcp_servers: { belljar: Server; whole: Server } }).mcp_servers;
    expect(belljar).toEqual(whole);
  });

  it("replaces a table of Codex's file in any form that it can, and leaves the others", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    mkdirSync(hosts.path(".codex"));
    const file = hosts.path(".codex/config.toml");
    const other = '[other]\nlist = [\n  ["[mcp_servers.belljar]"],\n]\n';
    writeFileSync(file, `[mcp_servers . "belljar"] # own\ncommand = "my-own"\n# kept\n[mcp_servers.belljar.env]\nA = "b"\n\n${other}`);
    expect(await hosts.connect("codex", "--force")).toMatchObject({ code: 0 });
    const after = readFileSync(file, "utf8");
    expect(after.startsWith(`# kept\n${other}\n[mcp_servers.belljar]\n`)).toBe(true);
    expect(after).not.toMatch(/my-own|A = "b"/);
    for (const text of ['mcp_servers = { belljar = { command = "my-own" } }\n', '[mcp_servers]\nbelljar.command = "my-own"\n']) {
      writeFileSync(file, text);
      expect(await hosts.connect("codex", "--force")).toMatchObject({ code: 1, stderr: expect.stringContaining("--print") });
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });

  it("writes nothing that the host could not start", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    for (const [option, value, says] of [
      ["--network", "bad rule!!", "bad rule"],
      ["--toolsets", "nonsense", "choose of all"],
    ] as const)
      expect(await hosts.connect("claude", option, value)).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
    expect(readdirSync(hosts.project)).toEqual([]);
  });

  it("takes nothing for a server that the server alone decides, and neither does mcp", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    const server = ["--gateway", "http://127.0.0.1:9"];
    const refused = { code: 2, stderr: expect.stringContaining("a token") };
    for (const option of ["--network", "--toolsets"])
      expect(await hosts.connect("claude", ...server, option, "files", "--print"), option).toMatchObject(refused);
    for (const more of [["--toolsets", "files"], ["--read-only"]])
      expect(await cli.run(["mcp", ...server, ...more]), more[0]).toMatchObject(refused);
  });

  it("gives opencode its own form, with the network and the toolsets that were named", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    expect(await hosts.connect("opencode", "--network", "npm,github", "--toolsets", "files,shell")).toMatchObject({ code: 0 });
    const { mcp } = hosts.read("opencode.json") as { mcp: { belljar: { type: string; command: string[] } } };
    expect(mcp.belljar).toMatchObject({ type: "local", enabled: true });
    const args = mcp.belljar.command.slice(3);
    expect(args.slice(0, 2)).toEqual(["--toolsets", "files,shell"]);
    expect(args.join(" ")).toContain("--network npm,github --workspace");
  });

  it("replaces no entry in silence: it shows both, and needs --force", async () => {
    await using cli = await openCliHome();
    const hosts = openHosts(cli);
    const text = '{\n  // mine\n  "mcpServers": { "belljar": { "command": "my-own" } } // all\n}\n';
    writeFileSync(hosts.path(".mcp.json"), text);
    const refused = await hosts.connect("claude");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/--force[^]*- \{"command":"my-own"\}[^]*\+ \{"command":/) });
    expect(readFileSync(hosts.path(".mcp.json"), "utf8")).toBe(text);
    expect(await hosts.connect("claude", "--force")).toMatchObject({ code: 0 });
    const after = readFileSync(hosts.path(".mcp.json"), "utf8");
    expect(after).toMatch(/\/\/ mine[^]*\/\/ all/);
    expect(after).not.toContain("my-own");
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
