import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliHome, openCliHome } from "../../support/belljar-cli.ts";
import { askBox, type BoxServer, openBoxServer } from "../../support/mcp-box.ts";
import { shownText } from "../../support/shown-result.ts";

let cli: CliHome;
let server: BoxServer;
beforeAll(async () => {
  cli = await openCliHome({ apart: true });
  server = await openBoxServer(cli, "--sse");
}, 120_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await cli[Symbol.asyncDispose]();
}, 60_000);

/** A tool as the pages of MCP Box show it. */
const tool = (name: string): string => `@mcp.tool(description='Says something')
def ${name}(whom: Annotated[str, Field(description="To whom")] = "you"):
    return f"${name} {whom}"
`;
const DONE = { status: 200, result: 0, error: "" };

async function kept(): Promise<readonly string[]> {
  const { tools } = (await (await fetch(`${server.url}/v1/tools`)).json()) as { readonly tools: readonly { readonly name: string }[] };
  return tools.map(({ name }) => name);
}

async function connect(url: string, transport: "sse" | "streamable-http"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new (transport === "sse" ? SSEClientTransport : StreamableHTTPClientTransport)(new URL(url)));
  return client;
}

it("adds a tool that a connected client is told of and calls, and removes it again", async () => {
  const first = await askBox(server.admin, "add_mcp_tool", "greet.first", { code: tool("greet_first") });
  expect(first).toEqual({ ...DONE, transport: "sse", mcp_box_url: `${server.url}/sse` });
  const client = await connect(String(first.mcp_box_url), "sse");
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("greet_first");
  const changed = new Promise<void>((resolve) => client.setNotificationHandler("notifications/tools/list_changed", () => resolve()));
  const code = tool("create").replace("@mcp.tool(", "@mcp.tool(name='memo.create', ");
  expect(await askBox(server.admin, "add_mcp_tool", "memo.create", { code })).toMatchObject(DONE);
  await changed;
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === "memo_create")).toMatchObject({
    description: "Says something",
    inputSchema: { properties: { whom: { type: "string", description: "To whom" } } },
  });
  for (const name of ["memo_create", "memo.create"])
    expect(shownText(await client.callTool({ name, arguments: { whom: "Ada" } }))).toBe("create Ada");
  expect(shownText(await client.callTool({ name: "greet.first", arguments: {} }))).toBe("greet_first you");
  expect(await askBox(server.admin, "remove_mcp_tool", "memo.create")).toEqual(DONE);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("memo_create");
  await client.close();
}, 60_000);

describe.each(["url", "admin"] as const)("at the port of %s", (port) => {
  it("answers 1 for a tool that is there already, and for one that is not there", async () => {
    const origin = server[port];
    expect(await askBox(origin, "add_mcp_tool", "twice", { code: tool("twice") })).toMatchObject(DONE);
    expect(await askBox(origin, "add_mcp_tool", "twice", { code: tool("other") })).toMatchObject({
      status: 200,
      result: 1,
      error: expect.stringContaining('"twice" already'),
      mcp_box_url: `${server.url}/sse`,
    });
    expect(await askBox(origin, "remove_mcp_tool", "twice")).toEqual(DONE);
    expect(await askBox(origin, "remove_mcp_tool", "twice")).toMatchObject({
      status: 200,
      result: 1,
      error: expect.stringContaining('"twice"'),
    });
  });
});

it("removes a unit by the name of its only function, and one of several by its own name alone", async () => {
  await askBox(server.admin, "add_mcp_tool", "single.unit", { code: tool("only_one") });
  expect(await askBox(server.admin, "remove_mcp_tool", "only_one")).toEqual(DONE);
  await askBox(server.admin, "add_mcp_tool", "both", { code: tool("one_of_two") + tool("two_of_two") });
  expect(await askBox(server.admin, "remove_mcp_tool", "one_of_two")).toMatchObject({ result: 1 });
  expect(await kept()).toContain("both");
  expect(await askBox(server.admin, "remove_mcp_tool", "both")).toEqual(DONE);
  expect(await kept()).not.toContain("both");
});

describe("what cannot be a tool is answered with 2, and kept nowhere:", () => {
  it.each([
    ["no code", "", /no code|no tool/],
    ["code that is no UTF-8", Buffer.from([0xff, 0xfe, 0x41]), /UTF-8/],
    ["code that is no Python", `${tool("half")}def (:\n`, /line 4/],
    ["code without a tool", "x = 1\n", /no tool/],
    ["10 MB of code", Buffer.alloc(10_000_000, "#"), /more than 1 MiB/],
  ])("%s", async (_what, code, error) => {
    expect(await askBox(server.admin, "add_mcp_tool", "bad", { code })).toMatchObject({
      status: 200,
      result: 2,
      error: expect.stringMatching(error),
      transport: "sse",
    });
    expect(await kept()).not.toContain("bad");
  });

  it.each(["", "../up", "a/b", "..", "x".repeat(101), "line\nbreak"])("the name %j", async (name) => {
    expect(await askBox(server.admin, "add_mcp_tool", name, { code: tool("good") })).toMatchObject({
      status: 200,
      result: 2,
      error: expect.stringContaining("name"),
    });
    expect(await kept()).not.toContain(name);
  });

  it("a network that is none", async () => {
    const query = { network: "http://" };
    expect(await askBox(server.admin, "add_mcp_tool", "bad", { code: tool("bad"), query })).toMatchObject({ status: 200, result: 2 });
    expect(await kept()).not.toContain("bad");
  });
});

describe("the port for MCP Box's API", () => {
  it("serves nothing but this and its health", async () => {
    const ask = async (path: string): Promise<number> => (await fetch(server.admin + path)).status;
    expect(await (await fetch(`${server.admin}/health`)).json()).toEqual({ status: "ok" });
    const others = ["/", "/mcp", "/sse", "/ready", "/metrics", "/openapi.json", "/v1/tools", "/v1/sandboxes", "/tools", "/ports/x/1/"];
    expect(await Promise.all(others.map(ask))).toEqual(others.map(() => 404));
  });

  it("refuses pages of other sites, which may send a text unasked, and serves its own", async () => {
    const code = tool("from_page");
    const send = async (headers: Readonly<Record<string, string>>) => askBox(server.admin, "add_mcp_tool", "from.page", { code, headers });
    const refused = { status: 403, result: 2, error: expect.stringContaining("pages of other sites") };
    expect(await send({ origin: "http://evil.example" })).toEqual(refused);
    // Another port of the machine may be a page of a sandbox.
    expect(await send({ origin: server.url })).toEqual(refused);
    expect(await send({ "sec-fetch-site": "cross-site" })).toEqual(refused);
    expect(await send({ host: "rebound.example" })).toMatchObject({ status: 403, error: expect.stringContaining("Host") });
    expect(await kept()).not.toContain("from.page");
    expect(await send({ origin: server.admin })).toMatchObject(DONE);
  });

  it("refuses a token that is none, and one that may not publish", async () => {
    const withToken = (token: string) => ({ code: tool("by_token"), headers: { authorization: `Bearer ${token}` } });
    expect(await askBox(server.admin, "add_mcp_tool", "by.token", withToken("nonsense"))).toMatchObject({ status: 401 });
    const { stdout } = await cli.run(["token", "create", "drafter", "--scope", "toolset:tools"]);
    const refused = await askBox(server.admin, "add_mcp_tool", "by.token", withToken(stdout.trim()));
    expect(refused).toMatchObject({ status: 403, result: 2, error: expect.stringContaining("tools:publish") });
  });

  it("gives a tool no network that its author's token does not have", async () => {
    const scopes = ["toolset:tools", "tools:publish", "network:203.0.113.7:80"].flatMap((scope) => ["--scope", scope]);
    const { stdout } = await cli.run(["token", "create", "author", ...scopes]);
    const add = (network: string) =>
      askBox(server.admin, "add_mcp_tool", `reaches ${network}`, {
        code: tool(`reaches_${network.length}`),
        query: { network },
        headers: { authorization: `Bearer ${stdout.trim()}` },
      });
    expect(await add("203.0.113.7:80")).toMatchObject(DONE);
    expect(await add("127.0.0.1:48000")).toMatchObject({
      status: 403,
      result: 2,
      error: expect.stringContaining("127.0.0.1:48000"),
    });
    expect(await add("all")).toMatchObject({ status: 403, result: 2 });
  });

  it("writes what it changed into the audit, and counts it", async () => {
    const count = async (): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const [, counted = "0"] =
        /^belljar_http_request_duration_seconds_count\{[^}]*route="\/remove_mcp_tool\/"[^}]*\} (\d+)/m.exec(text) ?? [];
      return Number(counted);
    };
    const before = await count();
    await askBox(server.admin, "remove_mcp_tool", "seen", { headers: { "x-request-id": "seen-at-the-admin-port" } });
    expect(await count()).toBe(before + 1);
    const { stdout } = await cli.run(["audit", "tail", "--lines", "5", "--json"]);
    expect(stdout.split("\n").find((line) => line.includes("seen-at-the-admin-port"))).toContain("/remove_mcp_tool/");
  });

  it("names the main port's /mcp where SSE is off, and another server of the home has the tool too", async () => {
    await using other = await openBoxServer(cli);
    const added = await askBox(other.admin, "add_mcp_tool", "shared.home", { code: tool("shared_home") });
    expect(added).toEqual({ ...DONE, transport: "streamable-http", mcp_box_url: `${other.url}/mcp` });
    const client = await connect(String(added.mcp_box_url), "streamable-http");
    expect(shownText(await client.callTool({ name: "shared_home", arguments: {} }))).toBe("shared_home you");
    await client.close();
    expect(await askBox(server.admin, "add_mcp_tool", "shared.home", { code: tool("shared_home") })).toMatchObject({ result: 1 });
    expect(await askBox(server.admin, "remove_mcp_tool", "shared.home")).toEqual(DONE);
  });
});
