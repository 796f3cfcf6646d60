import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openServerStore } from "../../../src/cli/compose/open-hub.ts";
import { digestOf } from "../../../src/files/canonical.ts";
import { withoutServer, withServers } from "../../../src/mcp/proxy/sources/server-store.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { hubServer } from "../../support/hub-lab.ts";
import { openServersLab, type ServersLab } from "../../support/servers-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

let folder: string;
let lab: ServersLab;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bj-served-"));
  await writeFile(join(folder, "note"), "a note");
  lab = await openServersLab({ env: { OWN: "s3cret" } });
}, 60_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

const BAD = { command: "sh", args: ["-c", "echo no database >&2; exit 3"] };
const principalOf = (name: string, grants: NonNullable<Principal["grants"]> = {}): Principal => ({ id: `token:${name}`, name, grants });
const stateOf = (name: string, principal = LOCAL): string | undefined =>
  lab.servers.servers(principal).find((one) => one.name === name)?.state;

it.each(["", "/mcp"])(
  "serves what the local user sends to %s/custom-mcp, and says of each server whether it is served",
  async (prefix) => {
    const { status, answer } = await lab.ask(`POST ${prefix}/custom-mcp`, { mcpServers: { one: hubServer(), bad: BAD } });
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      status: "error",
      servers: {
        one: { state: "ready", tools: expect.arrayContaining(["mcp_one_count"]) },
        bad: { state: "failed", tools: [], error: { code: "SERVER_UNREACHABLE", message: expect.stringContaining("no database") } },
      },
    });
    expect(textOf(await lab.call("mcp_one_where", { path: "/" }))).not.toContain("s3cret");
    expect(await lab.ask("POST /custom-mcp", { mcpServers: { one: hubServer() } })).toMatchObject({ answer: { status: "success" } });
  },
  60_000,
);

it("adds, shows and removes a server while it runs", async () => {
  const added = await lab.ask("POST /v1/servers", { name: "memo", ...hubServer() });
  expect(added).toMatchObject({ status: 201, answer: { name: "memo", state: "starting" } });
  await lab.until(() => stateOf("memo") === "ready");
  expect(await lab.ask("GET /v1/servers/memo")).toMatchObject({
    status: 200,
    answer: { runs: expect.stringMatching(/^node /), settings: expect.arrayContaining([{ name: "approve", value: "never" }]), changes: [] },
  });
  expect(await lab.ask("DELETE /v1/servers/memo")).toMatchObject({ status: 204 });
  expect(lab.names().filter((name) => name.includes("memo"))).toEqual([]);
  expect(await lab.ask("GET /v1/servers/memo")).toMatchObject({ status: 404, answer: { error: { code: "MCP_SERVER_NOT_FOUND" } } });
  expect(await lab.ask("DELETE /v1/servers/memo")).toMatchObject({ status: 404 });
}, 60_000);

it("prints no value of a server's variables and headers, and none that looks like a key among its arguments", async () => {
  const entry = { command: "sleep", args: ["--api-key", "k-of-mine", "sk-abcdefghijkl"], env: { PLAIN: "of-the-env" } };
  await lab.ask("POST /v1/servers", { name: "keys", ...entry });
  const shown = JSON.stringify([await lab.ask("GET /v1/servers/keys"), await lab.ask("GET /v1/servers")]);
  expect(shown).toContain("sleep --api-key [redacted]");
  expect(shown).not.toMatch(/k-of-mine|sk-abc|of-the-env/);
  await lab.ask("DELETE /v1/servers/keys");
});

describe("a token", () => {
  it("without the scope `servers` adds servers that wait, and of which nothing is started", async () => {
    const bare = await lab.token("ann");
    const manager = await lab.token("ann", "servers");
    const sent = await lab.ask("POST /custom-mcp", { mcpServers: { hers: hubServer() } }, bare);
    expect(sent).toMatchObject({
      answer: { status: "error", servers: { hers: { state: "needs_approval", tools: [], error: { code: "MCP_SERVER_NOT_APPROVED" } } } },
    });
    for (const route of ["POST /v1/servers/hers/approve", "DELETE /v1/servers/hers", "POST /v1/servers"]) {
      const body = route.startsWith("DELETE") ? undefined : { name: "other", command: "sh" };
      expect(await lab.ask(route, body, bare), route).toMatchObject({ status: 403, answer: { error: { code: "FORBIDDEN" } } });
    }
    expect(await lab.ask("POST /v1/servers/hers/restart", undefined, bare)).toMatchObject({ status: 403 });
    expect(lab.names(principalOf("ann"))).toEqual([]);
    const { answer } = await lab.ask("GET /v1/servers/hers", undefined, manager);
    expect(await lab.ask("POST /v1/servers/hers/approve", { digest: "another" }, manager)).toMatchObject({ status: 409 });
    expect(await lab.ask("POST /v1/servers/hers/approve", { digest: answer["digest"] }, manager)).toMatchObject({ status: 200 });
    await lab.until(() => stateOf("hers", principalOf("ann")) === "ready");
    expect(textOf(await lab.call("mcp_hers_count", {}, principalOf("ann")))).toBe("1");
    expect(lab.names().filter((name) => name.includes("hers"))).toEqual([]);
    // Who may not approve puts nothing in the place of what is approved.
    expect(await lab.ask("POST /custom-mcp", { mcpServers: { hers: BAD } }, bare)).toMatchObject({ status: 403 });
    expect(await lab.ask("POST /custom-mcp", { mcpServers: { hers: hubServer() } }, bare)).toMatchObject({ answer: { status: "success" } });
  }, 60_000);

  it("gives a server no more than its scopes, and nothing once no token is valid", async () => {
    const token = await lab.token("bob", "servers", "network:none");
    const all = { name: "wide", ...hubServer({ network: "all" }) };
    expect(await lab.ask("POST /v1/servers", all, token)).toMatchObject({ status: 403, answer: { error: { code: "FORBIDDEN" } } });
    expect(await lab.ask("POST /v1/servers", { name: "own", ...hubServer() }, token)).toMatchObject({ status: 201 });
    await lab.until(() => stateOf("own", principalOf("bob")) === "ready");
    const { answer } = await lab.ask("GET /v1/servers", undefined, token);
    expect(answer["servers"]).toMatchObject([{ name: "own" }]);
    // Another token of his may have more than this one.
    const open = { name: "open", ...hubServer({ mounts: [{ host: folder }] }) };
    expect(await lab.ask("POST /v1/servers", open)).toMatchObject({ status: 403 });
    expect(await lab.ask("POST /v1/servers", open, await lab.token("bob", "servers"))).toMatchObject({ status: 403 });
    expect(await lab.ask("POST /v1/servers", open, await lab.token("bob", "servers", "workspaces"))).toMatchObject({ status: 201 });
    await lab.until(() => stateOf("open", principalOf("bob")) === "ready");
    const wide = principalOf("bob", { workspaces: [{ path: "/", mode: "rw" }] });
    expect(textOf(await lab.call("mcp_open_read", { path: "/workspace/note" }, wide))).toBe("a note");
    expect(await lab.call("mcp_open_count", {}, principalOf("bob"))).toMatchObject({ isError: true, value: { code: "FORBIDDEN" } });
    await lab.revokeAll("bob");
    await lab.servers.restart(principalOf("bob"), "own");
    expect(lab.servers.servers(principalOf("bob"))[0]).toMatchObject({ state: "failed", error: { code: "FORBIDDEN" } });
  }, 60_000);

  it("sees those of the local user's servers that it names, each caller from an instance of its own", async () => {
    const sees = principalOf("carl", { servers: ["one"] });
    expect(lab.names(principalOf("carl"))).toEqual([]);
    expect(lab.names(sees)).toContain("mcp_one_count");
    expect(lab.names(sees).filter((name) => !name.startsWith("mcp_one_"))).toEqual([]);
    expect(textOf(await lab.call("mcp_one_count", {}, LOCAL))).toBe("1");
    expect(textOf(await lab.call("mcp_one_count", {}, sees))).toBe("1");
    await expect(lab.call("mcp_one_count", {}, principalOf("carl"))).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
    const token = await lab.token("carl", "server:one", "servers");
    const { answer } = await lab.ask("GET /v1/servers", undefined, token);
    expect(answer["servers"]).toEqual([{ name: "one", state: "ready", tools: expect.any(Array), instances: expect.any(Number) }]);
    for (const route of ["GET /v1/servers/one", "GET /v1/servers/one/logs", "POST /v1/servers/one/restart", "DELETE /v1/servers/one"])
      expect(await lab.ask(route, undefined, token), route).toMatchObject({ status: 404 });
  }, 60_000);
});

describe("bad input", () => {
  it.each<[why: string, servers: unknown, message: string]>([
    ["a missing command", { a: {} }, 'server "a", command: is missing'],
    ["a program of a wrong type", { a: { command: 7 } }, 'server "a", command: must be a text'],
    ["an address that is none", { a: { url: "file:///x" } }, 'server "a", url'],
    ["a password in an address", { a: { url: "http://ann:pw@x.test" } }, "write it under headers"],
    ["a program that gives headers", { a: { url: "http://x.test", headersHelper: "/bin/token" } }, "headersHelper: runs a program"],
    ["a name that is none", { "a/b": { command: "x" } }, "name is 1 to 64 letters"],
    [
      "a slip of a field",
      { a: { command: "x", aprove: "always" } },
      'server "a", aprove: is no field of a server. Did you mean "approve"?',
    ],
    ["an unknown network", { a: { command: "x", network: "al" } }, "network: must be"],
    [
      "an entry that is too large",
      { a: { command: "x", args: Array.from({ length: 10 }, () => "x".repeat(50_000)) } },
      "has over 262144 bytes",
    ],
  ])("refuses %s, and adds none of the servers beside it", async (_why, servers, message) => {
    const { status, answer } = await lab.ask("POST /custom-mcp", { mcpServers: { beside: { command: "sh" }, ...(servers as object) } });
    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { message: expect.stringContaining(message) } });
    expect(JSON.stringify(answer)).not.toContain("ann:pw");
    expect(stateOf("beside")).toBeUndefined();
  });

  it("takes keys that only other hosts know", async () => {
    const entry = hubServer({ autoApprove: ["*"], trust: {}, timeout: "5s" });
    expect(await lab.ask("POST /custom-mcp", { mcpServers: { others: entry } })).toMatchObject({ answer: { status: "success" } });
  }, 60_000);

  it("bounds the servers of one owner, and a body", async () => {
    const token = await lab.token("many", "servers");
    const off = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${at}`, { command: "sh", disabled: true }]));
    const over = await lab.ask("POST /custom-mcp", { mcpServers: off(51) }, token);
    expect(over).toMatchObject({ status: 429, answer: { error: { code: "QUOTA_EXCEEDED" } } });
    expect(await lab.ask("POST /custom-mcp", { mcpServers: off(50) }, token)).toMatchObject({ status: 200 });
    expect(await lab.ask("POST /v1/servers", { name: "one-more", command: "sh" }, token)).toMatchObject({ status: 429 });
    expect(await lab.ask("POST /v1/servers", { name: "s0", command: "sh", args: ["x".repeat(5_000_000)] })).toMatchObject({ status: 413 });
  });
});

it("takes up at once what another process of the home adds and removes, which may run on the host", async () => {
  const store = openServerStore({ home: lab.home, secretsKey: "file" });
  const entry = hubServer({ isolation: "none", env: { GIVEN: "${OWN}" } }) as Record<string, unknown>;
  await store.change(LOCAL.id, (servers) =>
    withServers(servers, new Map([["bare", { entry, origin: "machine", approved: digestOf(entry) }]])),
  );
  await lab.until(() => stateOf("bare") === "ready");
  expect(JSON.parse(textOf(await lab.call("mcp_bare_where", { path: "/" })))).toMatchObject({ env: { GIVEN: "s3cret" } });
  await store.change(LOCAL.id, (servers) => withoutServer(servers, "bare"));
  await lab.until(() => stateOf("bare") === undefined);
}, 60_000);

it("reads what came over the network without any fact of the host, whatever wrote it to the home", async () => {
  const store = openServerStore({ home: lab.home, secretsKey: "file" });
  const entry = hubServer({ isolation: "none" }) as Record<string, unknown>;
  await store.change(LOCAL.id, (servers) =>
    withServers(servers, new Map([["sly", { entry, origin: "network", approved: digestOf(entry) }]])),
  );
  await lab.until(() => stateOf("sly") === "failed");
  expect(lab.servers.servers(LOCAL).find(({ name }) => name === "sly")?.error).toMatchObject({ code: "FORBIDDEN" });
});

it("serves what an older Belljar was sent: the local user's at once, and others' once it is approved", async () => {
  const mounted = hubServer({ mounts: [{ host: folder, mode: "rw" }] }) as Record<string, unknown>;
  await using older = await openServersLab({ sent: { kept: hubServer() as Record<string, unknown>, mounted } });
  await older.until(() => older.servers.servers(LOCAL)[0]?.state === "ready");
  // What nobody may add over HTTP waits for a person at the machine.
  expect(older.servers.servers(LOCAL)).toMatchObject([{ name: "kept" }, { name: "mounted", state: "needs_approval" }]);
  expect(await older.ask("POST /v1/servers/mounted/approve", {})).toMatchObject({ status: 403 });
  expect(older.names()).toContain("mcp_kept_count");
  const token = await older.token("dan");
  expect((await older.ask("GET /v1/servers", undefined, token)).answer).toMatchObject({
    servers: [
      { name: "kept", state: "needs_approval" },
      { name: "mounted", state: "needs_approval" },
    ],
  });
}, 60_000);
