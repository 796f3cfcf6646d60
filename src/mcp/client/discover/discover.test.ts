import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DiscoveredServer, Discovery } from "./discover.ts";
import { discoverServers } from "./discover.ts";

interface MadeUpHome extends Disposable {
  readonly path: (name: string) => string;
  discover(): Promise<Discovery>;
}

/** A person's home with these files; `project/` is the current folder. */
function makeHome(files: Readonly<Record<string, unknown>>): MadeUpHome {
  const home = mkdtempSync(join(tmpdir(), "belljar-hosts-"));
  const path = (name: string): string => join(home, name);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const config = path(".config");
  return {
    path,
    discover: () => discoverServers({ home, config, applications: config, codex: path(".codex"), project: path("project") }),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  };
}

const STDIO = { command: "npx", args: ["-y", "memo", "--key", "s3cret"], env: { MEMO_KEY: "s3cret" } };
const MCP_SERVERS = { theme: "dark", mcpServers: { memo: STDIO } };
const CODEX = '[mcp_servers.memo]\ncommand = "npx"\nargs = ["s3cret"]\nenv = { MEMO_KEY = "s3cret" }\n';
const OPENCODE = { mcp: { memo: { type: "local", command: ["npx", "s3cret"], environment: { MEMO_KEY: "s3cret" } } } };

const FILES = [
  ["claude-desktop", ".config/Claude/claude_desktop_config.json", MCP_SERVERS],
  ["claude", ".claude.json", MCP_SERVERS],
  ["claude", "project/.mcp.json", MCP_SERVERS],
  ["cursor", ".cursor/mcp.json", MCP_SERVERS],
  ["cursor", "project/.cursor/mcp.json", MCP_SERVERS],
  ["vscode", ".config/Code/User/mcp.json", { servers: { memo: { type: "stdio", ...STDIO } }, inputs: [] }],
  ["vscode", ".config/Code/User/settings.json", { "editor.fontSize": 12, mcp: { servers: { memo: STDIO } } }],
  ["vscode", "project/.vscode/mcp.json", { servers: { memo: STDIO } }],
  ["windsurf", ".codeium/windsurf/mcp_config.json", MCP_SERVERS],
  ["codex", ".codex/config.toml", CODEX],
  ["codex", "project/.codex/config.toml", CODEX],
  ["gemini", ".gemini/settings.json", MCP_SERVERS],
  ["gemini", "project/.gemini/settings.json", MCP_SERVERS],
  ["opencode", ".config/opencode/opencode.json", OPENCODE],
  ["opencode", ".config/opencode/opencode.jsonc", OPENCODE],
  ["opencode", "project/opencode.json", { mcp: { servers: OPENCODE.mcp } }],
  ["opencode", "project/opencode.jsonc", OPENCODE],
  ["zed", ".config/zed/settings.json", { context_servers: { memo: { source: "custom", ...STDIO } } }],
  ["zed", "project/.zed/settings.json", { context_servers: { memo: STDIO } }],
] as const;

it.each(FILES)("finds the server of %s in %s, and no value of its variables and arguments", async (host, file, content) => {
  using home = makeHome({ [file]: content });
  const discovery = await home.discover();
  expect(discovery.problems).toEqual([]);
  expect(discovery.servers).toEqual([
    {
      host,
      file: home.path(file),
      scope: file.startsWith("project/") ? "project" : "user",
      project: null,
      name: "memo",
      transport: "stdio",
      target: "npx",
      is_disabled: false,
      env: ["MEMO_KEY"],
      headers: [],
      problem: null,
    },
  ]);
  expect(JSON.stringify(discovery)).not.toContain("s3cret");
});

const namedIn = (servers: readonly DiscoveredServer[]): unknown => servers.map(({ name, is_disabled: isDisabled }) => [name, isDisabled]);

describe("servers that are switched off", () => {
  it.each([
    ["an entry's disabled", ".cursor/mcp.json", { mcpServers: { a: { ...STDIO, disabled: true }, b: STDIO } }],
    ["an entry's enabled", ".codex/config.toml", '[mcp_servers.a]\ncommand="x"\nenabled=false\n[mcp_servers.b]\ncommand="y"'],
    ["the list of Gemini", ".gemini/settings.json", { mcp: { excluded: ["a"] }, mcpServers: { a: STDIO, b: STDIO } }],
    [
      "the list of a project of Claude Code",
      ".claude.json",
      { projects: { "/p": { disabledMcpServers: ["a"], mcpServers: { a: STDIO, b: STDIO } } } },
    ],
  ])("are marked by %s", async (_by, file, content) => {
    using home = makeHome({ [file]: content });
    expect(namedIn((await home.discover()).servers)).toEqual([
      ["a", true],
      ["b", false],
    ]);
  });
});

it("names the project of a server that a person has for one project", async () => {
  using home = makeHome({
    ".claude.json": { mcpServers: { all: STDIO }, projects: { "/work/shop": { mcpServers: { one: STDIO } }, "/other": {} } },
  });
  const { servers } = await home.discover();
  expect(servers.map(({ name, project }) => [name, project])).toEqual([
    ["all", null],
    ["one", "/work/shop"],
  ]);
});

it("shows of an address its origin, and of headers their names", async () => {
  const servers = {
    http: { serverUrl: "https://ann:s3cret@far.example:8443/s3cret?key=s3cret", headers: { "X-Key": "s3cret" } },
    sse: { type: "sse", url: "http://localhost:9000/sse" },
    variable: { url: "https://${HOST}/mcp" },
  };
  using home = makeHome({ ".codeium/windsurf/mcp_config.json": { mcpServers: servers } });
  const discovery = await home.discover();
  expect(discovery.servers.map(({ transport, target, headers }) => [transport, target, headers])).toEqual([
    ["http", "https://far.example:8443", ["X-Key"]],
    ["sse", "http://localhost:9000", []],
    ["http", null, []],
  ]);
  expect(JSON.stringify(discovery)).not.toContain("s3cret");
});

it("finds nothing in a home without hosts, and in empty files", async () => {
  using home = makeHome({ ".cursor/mcp.json": "", ".claude.json": "{}", ".codex/config.toml": "" });
  expect(await home.discover()).toEqual({ servers: [], problems: [] });
});

it("lists a file once when the project is the home", async () => {
  using home = makeHome({ ".cursor/mcp.json": MCP_SERVERS });
  const places = {
    home: home.path(""),
    config: home.path("c"),
    applications: home.path("c"),
    codex: home.path("x"),
    project: home.path(""),
  };
  expect((await discoverServers(places)).servers.map(({ scope }) => scope)).toEqual(["user"]);
});

it("tells of what it cannot read, and lists the rest", async () => {
  using home = makeHome({
    ".cursor/mcp.json": "{ nonsense",
    ".claude.json": { mcpServers: { bad: { args: ["s3cret"] }, good: STDIO } },
    ".gemini/settings.json/folder": "",
    "project/.keep": "",
  });
  execFileSync("mkfifo", [home.path("project/.mcp.json")]);
  const { servers, problems } = await home.discover();
  expect(servers.map(({ name, transport, problem }) => [name, transport, problem])).toEqual([
    ["bad", null, expect.stringContaining(`${home.path(".claude.json")}: server "bad", command: is missing`)],
    ["good", "stdio", null],
  ]);
  expect(problems.map(({ host, problem }) => [host, problem])).toEqual([
    ["claude", expect.stringContaining(`${home.path("project/.mcp.json")}: it is no file`)],
    ["cursor", expect.stringContaining(`${home.path(".cursor/mcp.json")}, line 1`)],
    ["gemini", expect.stringContaining(`${home.path(".gemini/settings.json")}: it is no file`)],
  ]);
});
