import { describe, expect, it } from "vitest";
import { BelljarError } from "../../../errors.ts";
import { readConfigText } from "./read-config.ts";
import type { ConfiguredServer } from "./server-config.ts";

const FILE = "/home/ann/mcp.json";

function read(value: unknown): readonly ConfiguredServer[] {
  return readConfigText(JSON.stringify(value), FILE).servers;
}

function entry(value: unknown): ConfiguredServer {
  const [server] = read({ mcpServers: { one: value } });
  if (!server) throw new Error("no server");
  return server;
}

function problemOf(work: () => unknown): BelljarError {
  try {
    work();
  } catch (error) {
    if (error instanceof BelljarError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

describe("the tables of the hosts", () => {
  it("reads a program of mcpServers, with the keys of other hosts beside it", () => {
    const value = {
      command: "npx",
      args: ["-y", "memo"],
      env: { LEVEL: 3, ON: true },
      autoApprove: ["*"],
      alwaysAllow: [],
      trust: {},
      type: 7,
    };
    expect(entry(value).config).toEqual({
      kind: "stdio",
      name: "one",
      command: "npx",
      args: ["-y", "memo"],
      env: { LEVEL: "3", ON: "true" },
      envFile: undefined,
      cwd: undefined,
      inherits: [],
      expands: true,
      isDisabled: false,
      startTimeoutMs: undefined,
      callTimeoutMs: undefined,
    });
  });

  it.each([
    [{ url: "http://a/mcp" }, "any", "http://a/mcp"],
    [{ url: "http://a/mcp", type: "http" }, "http", "http://a/mcp"],
    [{ url: "http://a/mcp", type: "streamableHttp" }, "http", "http://a/mcp"],
    [{ url: "http://a/sse", type: "sse" }, "sse", "http://a/sse"],
    [{ httpUrl: "http://gemini/mcp", url: "http://other" }, "http", "http://gemini/mcp"],
    [{ serverUrl: "http://windsurf/mcp" }, "any", "http://windsurf/mcp"],
  ])("reads the address of %j", (value, kind, url) => {
    expect(entry(value).config).toMatchObject({ kind, url, headers: {} });
  });

  it("reads servers of VS Code, with comments and trailing commas", () => {
    const text = `\uFEFF{
      // what the team uses
      "servers": { "memo": { "type": "stdio", "command": "memo", "args": ["\${input:key}",], }, },
      "inputs": [{ "id": "key", "type": "promptString", "description": "Key", "password": true }, { "id": "run", "type": "command" }, 7],
    }`;
    const { servers, inputs } = readConfigText(text, ".vscode/mcp.json");
    expect(servers).toEqual([
      expect.objectContaining({ name: "memo", config: expect.objectContaining({ command: "memo", args: ["${input:key}"] }) }),
    ]);
    expect(inputs).toEqual([{ id: "key", description: "Key", isSecret: true, options: undefined, fallback: undefined }]);
  });

  it("reads the TOML of Codex, in which ${X} stands for itself", () => {
    const text = `
      model = "o"
      [mcp_servers.memo]
      command = "memo"
      args = ["\${HOME}"]
      env_vars = ["MEMO_KEY"]
      startup_timeout_sec = 20
      tool_timeout_sec = 90.5
      enabled = false
      [mcp_servers.far]
      url = "https://far.example/mcp"
      bearer_token_env_var = "FAR_TOKEN"
      http_headers = { X-Team = "a" }
      env_http_headers = { X-Key = "FAR_KEY" }
    `;
    const { servers } = readConfigText(text, "config.toml");
    expect(servers.map(({ config }) => config)).toMatchObject([
      { args: ["${HOME}"], inherits: ["MEMO_KEY"], expands: false, isDisabled: true, startTimeoutMs: 20_000, callTimeoutMs: 90_500 },
      {
        url: "https://far.example/mcp",
        headers: { "X-Team": "a" },
        headersFrom: { "X-Key": { variable: "FAR_KEY", prefix: "" }, Authorization: { variable: "FAR_TOKEN", prefix: "Bearer " } },
      },
    ]);
  });

  it("takes a timeout in milliseconds, and ignores one that may count seconds or is no number", () => {
    const timeouts = [5000, 60, "5s", -1, 1e300].map((timeout) => entry({ command: "a", timeout }).config?.callTimeoutMs);
    expect(timeouts).toEqual([5000, undefined, undefined, undefined, 86_400_000]);
  });

  it("keeps a server that is disabled, by either word", () => {
    const servers = read({ mcpServers: { a: { command: "a", disabled: true }, b: { command: "b", enabled: false }, c: { command: "c" } } });
    expect(servers.map(({ config }) => config?.isDisabled)).toEqual([true, true, false]);
  });
});

describe("entries that cannot be used", () => {
  it.each([
    [{}, "command: is missing, and so is url"],
    [
      { comand: "sh", args: [] },
      'command: is missing, and so is url: a server has one of them. "comand" is no field: did you mean "command"?',
    ],
    [
      { URL: "https://mcp.example.com" },
      'command: is missing, and so is url: a server has one of them. "URL" is no field: did you mean "url"?',
    ],
    [{ command: 7 }, "command: must be a text"],
    [{ command: "" }, "command: "],
    [{ command: [] }, "command: "],
    [{ command: "a", args: "b" }, "args: "],
    [{ command: "a", args: ["b", 3] }, "args.1: "],
    [{ command: "a", env: ["A=b"] }, "env: "],
    [{ command: "a", env: { KEY: { value: "sk-secret" } } }, "env.KEY: must be a text"],
    [{ command: "a", disabled: "yes" }, "disabled: "],
    [{ url: 7 }, "url: "],
    [{ url: "http://a", headersHelper: "/bin/token" }, "headersHelper: runs a program"],
    [{ command: "a", args: ["x".repeat(131_073)] }, "args.0: "],
    [{ command: "a", args: Array.from({ length: 1001 }, () => "x") }, "args: "],
    ["npx memo", ""],
    [null, ""],
  ])("names file, server and field of %j", (value, problem) => {
    const found = entry(value).problem;
    expect(found?.code).toBe("CONFIG_INVALID");
    expect(found?.message).toContain(`${FILE}: server "one"${problem === "" ? ":" : `, ${problem}`}`);
    expect(found?.message).not.toContain("sk-secret");
  });

  it("leaves the other servers of the file as they are", () => {
    expect(read({ mcpServers: { bad: {}, good: { command: "a" } } }).map(({ config }) => config?.name)).toEqual([undefined, "good"]);
  });

  it("refuses two servers of one name, in one table and in two", () => {
    const inOne = readConfigText('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}', FILE).servers;
    const inTwo = read({ mcpServers: { a: { command: "x" }, b: { command: "y" } }, servers: { a: { command: "z" } } });
    for (const servers of [inOne, inTwo]) {
      const byName = new Map(servers.map((server) => [server.name, server]));
      expect(byName.get("a")?.problem?.message).toContain(`${FILE}: server "a": the file has two servers of this name`);
      expect(byName.get("b")?.config?.name).toBe("b");
    }
  });
});

describe("files that cannot be read", () => {
  it.each([
    ["", "holds no JSON object"],
    ["[]", "holds no JSON object"],
    ["{\n\n  7}", "line 3: "],
    ['{"mcpServers": {}, "mcpServers": {}}', "has mcpServers twice"],
    ['{"mcpServers": []}', "mcpServers must be an object of servers"],
    ["{}", 'names no servers: write them under mcpServers, as {"mcpServers"'],
    [`{"mcpServers": ${"[".repeat(200_000)}`, "nested too deep"],
    [`{"mcpServers": {${Array.from({ length: 1001 }, (_, at) => `"s${at}": {}`).join()}}}`, "over 1000 servers"],
    [" ".repeat(16 * 1024 * 1024 + 1), "characters"],
  ])("refuses %.30s", (text, problem) => {
    const error = problemOf(() => readConfigText(text, FILE));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toContain(FILE);
    expect(error.message).toContain(problem);
  });

  it("names the line of TOML that is wrong", () => {
    const error = problemOf(() => readConfigText("a = 1\nb =\n", "/x/config.toml"));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("/x/config.toml, line 2: ") as string });
  });
});

describe("names that mean something to JavaScript", () => {
  it("takes __proto__ and constructor as names like any other", () => {
    const text = `{"mcpServers": {"__proto__": {"command": "p"}, "constructor": {"command": "c", "env": {"__proto__": "x", "toString": "y"}}}}`;
    const { servers } = readConfigText(text, FILE);
    expect(servers.map(({ name, config }) => [name, config?.kind === "stdio" ? config.command : undefined])).toEqual([
      ["__proto__", "p"],
      ["constructor", "c"],
    ]);
    expect(({} as Record<string, unknown>)["command"]).toBeUndefined();
  });

  it("finds no field that an entry only inherits", () => {
    expect(readConfigText(`{"mcpServers": {"a": {"__proto__": {"command": "evil"}}}}`, FILE).servers[0]?.problem?.message).toContain(
      "is missing",
    );
    const toml = `[mcp_servers.a.__proto__]\ncommand = "evil"\n`;
    expect(readConfigText(toml, "c.toml").servers[0]?.problem?.message).toContain("is missing");
  });
});
