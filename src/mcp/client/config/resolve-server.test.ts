import { describe, expect, it } from "vitest";
import { readConfigText } from "./read-config.ts";
import { envFileOf, inputsOf, resolveServer } from "./resolve-server.ts";
import type { HttpTarget, StdioTarget } from "./resolve-server.ts";
import type { ServerConfig } from "./server-config.ts";

const FILE = "/home/ann/mcp.json";
const SCOPE = {
  env: {
    HOME: "/home/ann",
    PATH: "/bin",
    USER: "ann",
    TOKEN: "t0ken",
    EMPTY: "",
    SHELL: "() { evil; }",
    AWS_SECRET_ACCESS_KEY: "k",
    LONG: "x".repeat(70_000),
  },
  workspaceFolder: "/work/shop",
  userHome: "/home/ann",
  inputs: new Map([["key", "k3y"]]),
};

function config(entry: unknown, table = "mcpServers"): ServerConfig {
  const [server] = readConfigText(JSON.stringify({ [table]: { one: entry } }), FILE).servers;
  if (!server?.config) throw server?.problem ?? new Error("no server");
  return server.config;
}

function resolveStdio(entry: unknown, envFile?: string): StdioTarget {
  const target = resolveServer(config(entry), FILE, SCOPE, envFile);
  if (target.kind !== "stdio") throw new Error("not stdio");
  return target;
}

function resolveHttp(entry: unknown): HttpTarget {
  const target = resolveServer(config(entry), FILE, SCOPE);
  if (target.kind === "stdio") throw new Error("not HTTP");
  return target;
}

const problemIn = (field: string, problem: string): Error =>
  expect.objectContaining({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(`${FILE}: server "one", ${field}: ${problem}`) as string,
  });

describe("variables", () => {
  it.each([
    ["${TOKEN}", "t0ken"],
    ["${env:TOKEN}", "t0ken"],
    ["Bearer ${TOKEN}, ${TOKEN}", "Bearer t0ken, t0ken"],
    ["${MISSING:-fall:-back}", "fall:-back"],
    ["${EMPTY:-filled}", "filled"],
    ["${EMPTY}", ""],
    ["${MISSING:-}", ""],
    ["${input:key}", "k3y"],
    ["${workspaceFolder}/a", "/work/shop/a"],
    ["${workspaceFolderBasename}", "shop"],
    ["${userHome}${/}x${pathSeparator}y", "/home/ann/x/y"],
    ["$TOKEN ${ {TOKEN} $${", "$TOKEN ${ {TOKEN} $${"],
  ])("expands %s", (text, expanded) => {
    expect(resolveStdio({ command: "a", args: [text] }).args).toEqual([expanded]);
  });

  it("expands command, env, cwd, url and headers, and no name", () => {
    const target = resolveStdio({ command: "${userHome}/a", env: { "${TOKEN}": "${TOKEN}" }, cwd: "${workspaceFolder}/sub" });
    expect(target).toMatchObject({ command: "/home/ann/a", env: { "${TOKEN}": "t0ken" }, cwd: "/work/shop/sub" });
    const { url, headers } = resolveHttp({ url: "http://${USER}.example/mcp", headers: { Authorization: "Bearer ${TOKEN}" } });
    expect([url.href, headers]).toEqual(["http://ann.example/mcp", { Authorization: "Bearer t0ken" }]);
  });

  it("does not expand a value again", () => {
    const scope = { ...SCOPE, env: { OUTER: "${TOKEN}", TOKEN: "t0ken" } };
    expect(resolveServer(config({ command: "a", args: ["${OUTER}"] }), FILE, scope)).toMatchObject({ args: ["${TOKEN}"] });
  });

  it.each([
    [{ command: "a", env: { KEY: "x ${MISSING}" } }, "env.KEY", "the variable MISSING is not set"],
    [{ command: "a", args: ["b", "${env:MISSING}"] }, "args.1", "the variable MISSING is not set"],
    [{ url: "http://a.test", bearer_token_env_var: "constructor" }, "headers.Authorization", "the variable constructor is not set"],
    [{ command: "${command:evil}" }, "command", "${command:evil} is not a variable"],
    [{ command: "a", args: ["${input:other}"] }, "args.0", 'the input "other" has no answer'],
    [{ command: "a", args: ["${toString}"] }, "args.0", "the variable toString is not set"],
    [{ url: "http://a", headers: { K: "${MISSING}" } }, "headers.K", "the variable MISSING is not set"],
  ])("names file, server and field of %j, which has no value", (entry, field, problem) => {
    expect(() => resolveServer(config(entry), FILE, SCOPE)).toThrow(problemIn(field, problem));
  });

  it("says which inputs a server needs", () => {
    const needs = inputsOf(
      config({ command: "a", args: ["${input:one}-${input:two}"], env: { A: "${input:one}" }, envFile: "${input:three}" }),
    );
    expect([...needs]).toEqual(["one", "two", "three"]);
    expect([...inputsOf(config({ url: "http://a/${input:four}", headers: { A: "${input:five}" } }))]).toEqual(["four", "five"]);
  });
});

describe("the environment of a program", () => {
  it("is a listed part of the client's, without functions of a shell, and the entry's env", () => {
    expect(resolveStdio({ command: "a", env: { LEVEL: "3", PATH: "/opt/bin" } }).env).toEqual({
      HOME: "/home/ann",
      PATH: "/opt/bin",
      USER: "ann",
      LEVEL: "3",
    });
  });

  it("has the variables that Codex lists", () => {
    const [server] = readConfigText('[mcp_servers.one]\ncommand = "a"\nenv_vars = ["TOKEN", "MISSING"]', "c.toml").servers;
    if (!server?.config) throw new Error("no server");
    expect(resolveServer(server.config, "c.toml", SCOPE)).toMatchObject({ env: { TOKEN: "t0ken" } });
  });

  it("has what envFile says, below what env says", () => {
    const entry = { command: "a", envFile: "${workspaceFolder}/.env", env: { B: "own" } };
    expect(envFileOf(config(entry), FILE, SCOPE)).toBe("/work/shop/.env");
    expect(envFileOf(config({ ...entry, envFile: "sub/.env" }), FILE, SCOPE)).toBe("/work/shop/sub/.env");
    const { env } = resolveStdio(entry, '# keys\nA="one two"\nB=file\nC=${TOKEN}\n');
    expect(env).toMatchObject({ A: "one two", B: "own", C: "${TOKEN}" });
  });
});

describe("values that cannot be sent", () => {
  it.each([
    [{ command: "a\0b" }, "command"],
    [{ command: "a", args: ["b\0"] }, "args.0"],
    [{ command: "a", env: { "A=B": "c" } }, "env"],
    [{ command: "a", args: ["${LONG}${LONG}"] }, "args.0"],
    [{ url: "not a url" }, "url"],
    [{ url: "file:///etc/passwd" }, "url"],
    [{ url: "ws://a" }, "url"],
    [{ url: "http://ann:pw@a" }, "url"],
    [{ url: "http://a", headers: { "bad name": "x" } }, "headers"],
    [{ url: "http://a", headers: { Good: "x\r\nEvil: y" } }, "headers"],
  ])("refuses %.60j without showing a value", (entry, field) => {
    expect(() => resolveServer(config(entry), FILE, SCOPE)).toThrow(problemIn(field, ""));
    expect(() => resolveServer(config(entry), FILE, SCOPE)).not.toThrow(/pw|Evil/);
  });

  it("refuses a bearer of Codex whose variable is not set", () => {
    const [server] = readConfigText(
      '[mcp_servers.one]\nurl = "http://a"\nbearer_token_env_var = "NOPE"',
      FILE.replace("json", "toml"),
    ).servers;
    if (!server?.config) throw new Error("no server");
    const { config: found } = server;
    expect(() => resolveServer(found, FILE, SCOPE)).toThrow(problemIn("headers.Authorization", "the variable NOPE is not set"));
  });
});
