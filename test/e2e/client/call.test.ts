import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";
import type { CliHome, CliResult } from "../../support/belljar-cli.ts";
import { richServer, writeMcpConfig } from "../../support/mcp-config.ts";

const SERVERS = { rich: richServer(), old: richServer("legacy"), off: { command: "/no/such", disabled: true } };

interface ClientCli extends AsyncDisposable {
  readonly cli: CliHome;
  client(...argv: string[]): Promise<CliResult>;
}

async function openClientCli(servers: object = SERVERS): Promise<ClientCli> {
  const cli = await openCliHome();
  const file = writeMcpConfig(cli.folder, servers);
  return {
    cli,
    client: async (...argv) => cli.run(["client", ...argv, "--config", file]),
    [Symbol.asyncDispose]: async () => cli[Symbol.asyncDispose](),
  };
}

describe("client call", () => {
  it("reads arguments as the schema has them, from words and from JSON", async () => {
    await using open = await openClientCli();
    expect(await open.client("call", "rich", "add", "a=1", "b=2.5")).toEqual({ code: 0, stdout: "3.5\n", stderr: "" });
    const json = await open.client("call", "old", "add", "--json", '{"a":3}');
    expect(json).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(json.stdout)).toMatchObject({ content: [{ type: "text", text: "3" }] });
  });

  it("shows a failed tool on stderr, and exits with 1", async () => {
    await using open = await openClientCli();
    const stderr = 'no\\u{1b}]0;x\\u{7} luck\nbelljar: The tool "fail" of "rich" failed\n';
    expect(await open.client("call", "rich", "fail")).toEqual({ code: 1, stdout: "", stderr });
    const json = await open.client("call", "rich", "fail", "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ isError: true });
  });

  it("lets nothing that a server says control the terminal, and says what is no text", async () => {
    await using open = await openClientCli();
    expect((await open.client("call", "rich", "hostile")).stdout).toBe("a\\u{1b}[2Jb\\u{202e}c\\u{d}\nd\n");
    expect((await open.client("call", "rich", "media")).stdout.split("\n")).toEqual([
      "[image image/png 1.5 KiB]",
      "[audio audio/wav\\u{1b}[31m 3 B]",
      "[resource_link note note://one]",
      "[contents application/zip bin://one 3 B]",
      "inner",
      "",
    ]);
    for (const output of ["hostile", "media", "fail"])
      expect((await open.client("call", "rich", output, "--json")).stdout).not.toMatch(/[\p{Cf}\p{Cc}](?!$)/u);
  });

  it("cuts a text of megabytes for people, and gives all of it as JSON", async () => {
    await using open = await openClientCli();
    const shown = await open.client("call", "rich", "long");
    expect(shown.stdout.slice(1_048_576)).toBe(`\n[${2_000_000 - 1_048_576} more characters: --json prints all]\n`);
    expect((await open.client("call", "rich", "long", "--json")).stdout.length).toBeGreaterThan(2_000_000);
  });

  it.each([
    ["a server", ["call", "ritch", "add"], 'no server "ritch". Did you mean "rich"?'],
    ["a tool", ["call", "rich", "ad"], 'no tool "ad". Did you mean "add"?'],
    ["an argument", ["call", "rich", "add", "A=1"], 'no argument "A"'],
    ["a value", ["call", "rich", "add", "a=x"], '"a=x" is not a number'],
    ["a disabled server", ["call", "off", "x"], 'The server "off" is disabled'],
    ["a prompt", ["prompt", "rich", "gret"], 'no prompt "gret". Did you mean "greet"?'],
  ])("exits with 2 for %s that is not there, and says what is", async (_what, argv, said) => {
    await using open = await openClientCli();
    const { code, stdout, stderr } = await open.client(...argv);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(said);
  });

  it("exits with 3 for a server that wants a token, and with 4 for one that is not reached or ends", async () => {
    const http = createServer((_request, response) => response.writeHead(401).end()).listen(0, "127.0.0.1");
    await once(http, "listening");
    const locked = { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` };
    await using open = await openClientCli({ locked, dead: { command: "false" }, rich: richServer() });
    const wanting = await open.client("call", "locked", "x");
    http.closeAllConnections();
    http.close();
    expect(wanting).toMatchObject({ code: 3, stderr: expect.stringContaining("run `belljar client login locked`") as unknown });
    expect(await open.client("call", "dead", "x")).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('belljar: The server "dead" ended with exit code 1 before it answered') as unknown,
    });
    const died = await open.client("call", "rich", "die");
    expect(died.code).toBe(4);
    expect(died.stderr).toContain('The server "rich" ended with exit code 7 before it answered\n  out of luck');
  });

  it("answers a question with cancel where there is no terminal, and says so", async () => {
    await using open = await openClientCli();
    for (const server of ["rich", "old"]) {
      const stderr = `belljar: The server "${server}" asks, and there is no terminal to answer in: Who\\u{1b}[31m are you?\n`;
      expect(await open.client("call", server, "ask")).toEqual({ code: 0, stdout: '"cancel"\n', stderr });
    }
  });

  it("writes the wire into a file that nobody else may read", async () => {
    await using open = await openClientCli();
    const file = join(open.cli.folder, "wire.jsonl");
    writeFileSync(file, "", { mode: 0o644 });
    expect((await open.client("call", "rich", "add", "a=1", "--wire", file)).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const records = lines.map((line) => JSON.parse(line) as { server: string; direction: string; message: { method?: string } });
    expect(records.map(({ direction, message }) => [direction, message.method])).toEqual([
      ["sent", "server/discover"],
      ["received", undefined],
      ["sent", "tools/list"],
      ["received", undefined],
      ["sent", "tools/call"],
      ["received", undefined],
    ]);
    expect((await open.client("call", "rich", "add", "a=1", "--wire", "/no/such/folder/file")).stderr).toContain("FILE_IO");
  });
});

describe("client list", () => {
  it("lists the tools of all servers that are ready, and tells of those that are not", async () => {
    await using open = await openClientCli({ rich: richServer(), dead: { command: "sh", args: ["-c", "echo 'no db' >&2; exit 3"] } });
    const { code, stdout, stderr } = await open.client("list");
    expect(code).toBe(0);
    expect(stderr).toMatch(/^belljar: The server "dead" ended with exit code 3 before it answered\n {2}no db\n$/);
    expect(stdout.split("\n").slice(0, 2)).toEqual(["SERVER  TOOL     ABOUT", "rich    add      Adds\\u{1b}[31m numbers"]);
  });

  it("lists everything as JSON", async () => {
    await using open = await openClientCli();
    const { servers, tools } = JSON.parse((await open.client("list", "--json")).stdout) as Record<string, Record<string, unknown>[]>;
    expect(servers).toEqual([
      expect.objectContaining({ name: "rich", state: "ready", era: "modern", instructions: "Be kind", error: null }),
      expect.objectContaining({ name: "old", state: "ready", era: "legacy" }),
      { name: "off", state: "disabled", error: null, resources: [], resource_templates: [], prompts: [] },
    ]);
    expect(servers?.[0]).toMatchObject({ resources: [{ uri: "note://one" }, { uri: "bin://one" }], prompts: [{ name: "greet" }] });
    expect(servers?.[0]).toMatchObject({ resource_templates: [{ uriTemplate: "people://{id}" }] });
    expect(tools?.[0]).toMatchObject({ server: "rich", tool: "add", name: "rich__add" });
  });

  it("reads mcp.json of the home without --config", async () => {
    await using cli = await openCliHome();
    mkdirSync(cli.home, { recursive: true });
    renameSync(writeMcpConfig(cli.folder, { rich: richServer() }), join(cli.home, "mcp.json"));
    expect((await cli.run(["client", "call", "rich", "add", "a=2"])).stdout).toBe("2\n");
  });

  it("exits with 2 for a file that is not there", async () => {
    await using cli = await openCliHome();
    const { code, stderr } = await cli.run(["client", "list", "--config", "/no/such.json"]);
    expect([code, stderr]).toEqual([2, "belljar: There is no file /no/such.json: name one with mcpServers in it (CONFIG_INVALID)\n"]);
  });

  it("names a server that needs an input, where there is no terminal, and lists the others", async () => {
    await using cli = await openCliHome();
    const file = join(cli.folder, "mcp.json");
    const servers = { rich: richServer(), asks: { command: "x", args: ["${input:key}"] } };
    writeFileSync(file, JSON.stringify({ servers, inputs: [{ id: "key", type: "promptString", password: true }] }));
    const { code, stdout, stderr } = await cli.run(["client", "list", "--config", file]);
    expect([code, stdout.includes("rich    add")]).toEqual([0, true]);
    expect(stderr).toContain('server "asks", args.0: the input "key" has no answer');
  });
});

describe("client read and prompt", () => {
  it("read a resource of the server that has it", async () => {
    await using open = await openClientCli({ rich: richServer() });
    expect(await open.client("read", "note://one")).toEqual({ code: 0, stdout: "a note\\u{1b}[31m\n", stderr: "" });
    expect((await open.client("read", "bin://one")).stdout).toBe("[contents application/zip bin://one 3 B]\n");
    expect((await open.client("read", "people://ann", "--json")).stdout).toContain('"text":"person ann"');
  });

  it("ask which server is meant where several list a resource, and none is asked for what it does not list", async () => {
    await using open = await openClientCli();
    expect((await open.client("read", "note://one")).stderr).toContain(
      "Several servers list note://one: name one of rich, old with --server",
    );
    expect((await open.client("read", "x://y")).stderr).toContain("No server lists x://y: name one of rich, old");
    expect((await open.client("read", "note://one", "--server", "old")).stdout).toBe("a note\\u{1b}[31m\n");
  });

  it("list prompts, and show one with its arguments", async () => {
    await using open = await openClientCli();
    expect((await open.client("prompt", "rich")).stdout).toBe("PROMPT  ARGUMENTS  ABOUT\ngreet   name       Greets\n");
    expect((await open.client("prompt", "rich", "greet", "name=Ann")).stdout).toBe("user: hello Ann\n");
  });
});
