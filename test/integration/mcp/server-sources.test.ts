import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pinsFolder } from "../../../src/cli/compose/open-hub.ts";
import { approveNamed } from "../../../src/mcp/proxy/sources/pin-file.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { hubServer } from "../../support/hub-lab.ts";
import { openServersLab, type ServersLab } from "../../support/servers-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bj-sources-"));
  file = join(folder, "mcp.json");
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

const write = (servers: object): Promise<void> => writeFile(file, JSON.stringify({ mcpServers: servers }));
const states = (lab: ServersLab) => Object.fromEntries(lab.servers.servers(LOCAL).map(({ name, state }) => [name, state]));
const count = async (lab: ServersLab, server: string) => textOf(await lab.call(`mcp_${server}_count`));

describe("the file that the command line names", () => {
  it("is read again when it changes: what is another server starts anew, alone", async () => {
    await write({ one: hubServer(), two: hubServer() });
    await using lab = await openServersLab({ file });
    await lab.until(() => states(lab)["one"] === "ready" && states(lab)["two"] === "ready");
    expect([await count(lab, "one"), await count(lab, "one"), await count(lab, "two")]).toEqual(["1", "2", "1"]);
    await write({ one: hubServer(), two: hubServer({ env: { OTHER: "1" }, rename: { count: "tally" } }) });
    await lab.until(() => lab.names().includes("mcp_two_tally"));
    expect([await count(lab, "one"), textOf(await lab.call("mcp_two_tally"))]).toEqual(["3", "1"]);
    // As editors do it: another file gets the name.
    await writeFile(join(folder, "next"), JSON.stringify({ mcpServers: { two: hubServer(), three: hubServer() } }));
    await rename(join(folder, "next"), file);
    await lab.until(() => states(lab)["three"] === "ready");
    expect(Object.keys(states(lab))).toEqual(["two", "three"]);
    expect(lab.names().filter((name) => name.startsWith("mcp_one_"))).toEqual([]);
  }, 60_000);

  it("goes on as it was when it cannot be read, which is told", async () => {
    await write({ one: hubServer() });
    await using lab = await openServersLab({ file });
    await lab.until(() => states(lab)["one"] === "ready");
    expect(await count(lab, "one")).toBe("1");
    await writeFile(file, '{"mcpServers": {');
    expect(await lab.told(/mcp\.json, line 1/)).toContain("What the file said before holds on");
    expect([states(lab), await count(lab, "one")]).toEqual([{ one: "ready" }, "2"]);
    await rm(file);
    await lab.told(/There is no file/);
    await write({ one: hubServer(), bad: {} });
    await lab.until(() => states(lab)["bad"] === "failed");
    expect(await count(lab, "one")).toBe("3");
  }, 60_000);

  it("has the names that it gives: nobody puts another server in their place", async () => {
    await write({ one: { command: "sleep", args: ["9"] } });
    await using lab = await openServersLab({ file });
    for (const [route, body] of [["POST /custom-mcp", { mcpServers: { one: { command: "sh" } } }], ["DELETE /v1/servers/one"]] as const)
      expect(await lab.ask(route, body)).toMatchObject({ status: 409, answer: { error: { code: "MCP_SERVER_NAME_TAKEN" } } });
    expect(await lab.ask("POST /custom-mcp", { mcpServers: { two: { command: "false" } } })).toMatchObject({ status: 200 });
    await write({ one: { command: "sleep", args: ["9"] }, two: hubServer() });
    await lab.until(() => states(lab)["two"] === "ready");
    expect(lab.servers.servers(LOCAL).filter(({ name }) => name === "two")).toHaveLength(1);
  }, 60_000);
});

describe("definitions as they were approved", () => {
  const restartedWith = async (earlier: ServersLab, more: object): Promise<ServersLab> => {
    await earlier.close();
    await write({ one: hubServer(more) });
    return openServersLab({ file, home: earlier.home });
  };

  it("are what a list answers with after a restart, until the server has answered", async () => {
    await write({ one: hubServer() });
    await using first = await openServersLab({ file });
    await first.until(() => states(first)["one"] === "ready");
    const known = first.names();
    await using again = await restartedWith(first, { env: { LISTS: "hang" } });
    expect([states(again), again.names()]).toEqual([{ one: "starting" }, known]);
    expect(await count(again, "one")).toBe("1");
  }, 60_000);

  it("tell a change between two lists, and show it", async () => {
    await write({ one: hubServer() });
    await using lab = await openServersLab({ file });
    await lab.until(() => states(lab)["one"] === "ready");
    await lab.call("mcp_one_turn");
    expect(await lab.told(/are not those that were approved/)).toContain('changed tools "count"');
    expect(lab.servers.servers(LOCAL)[0]).toMatchObject({ changed: 1 });
    const { answer } = await lab.ask("GET /v1/servers/one");
    expect(answer["changes"]).toEqual([
      {
        list: "tools",
        name: "count",
        kind: "changed",
        before: expect.not.stringContaining("send all keys"),
        after: expect.stringContaining("send all keys"),
      },
    ]);
    expect(await count(lab, "one")).toBe("1");
    expect(await lab.ask("POST /v1/servers/one/approve", { digest: answer["digest"] })).toMatchObject({ answer: { changes: [] } });
    expect(lab.servers.servers(LOCAL)[0]).not.toHaveProperty("changed");
  }, 60_000);

  it("with a strict pin block a tool that changes between two lists until somebody approves exactly that", async () => {
    await write({ one: hubServer({ pin: "strict" }) });
    await using lab = await openServersLab({ file });
    await lab.until(() => states(lab)["one"] === "ready");
    const { answer: before } = await lab.ask("GET /v1/servers/one");
    await lab.call("mcp_one_turn");
    await lab.until(() => lab.servers.servers(LOCAL)[0]?.changed === 1);
    const blocked = await lab.call("mcp_one_count");
    expect(blocked).toMatchObject({
      isError: true,
      value: { code: "TOOL_CHANGED", message: expect.stringContaining("server approve one") },
    });
    expect(JSON.stringify((await lab.ask("GET /tools")).answer)).not.toContain("send all keys");
    const stale = await lab.ask("POST /v1/servers/one/approve", { digest: before["digest"] });
    expect(stale).toMatchObject({ status: 409, answer: { error: { code: "MCP_SERVER_CHANGED" } } });
    expect(await lab.call("mcp_one_count")).toMatchObject({ isError: true });
    const { answer } = await lab.ask("GET /v1/servers/one");
    expect(await lab.ask("POST /v1/servers/one/approve", { digest: answer["digest"] })).toMatchObject({ status: 200 });
    expect(await count(lab, "one")).toBe("1");
    expect(JSON.stringify((await lab.ask("GET /tools")).answer)).toContain("send all keys");
  }, 60_000);

  it("with a strict pin hide a new tool, over a restart too, until another process approves it", async () => {
    await write({ one: hubServer({ pin: "strict" }) });
    await using first = await openServersLab({ file });
    await first.until(() => states(first)["one"] === "ready");
    await first.call("mcp_one_more");
    await first.until(() => first.servers.servers(LOCAL)[0]?.changed === 1);
    expect(first.names()).not.toContain("mcp_one_later");
    await expect(first.call("mcp_one_later")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
    await using again = await restartedWith(first, { pin: "strict", env: { LISTS: "hang" } });
    expect([again.names().includes("mcp_one_later"), again.servers.servers(LOCAL)[0]?.changed]).toEqual([false, 1]);
    await approveNamed({ folder: pinsFolder({ home: again.home }), owner: LOCAL.id, name: "one" });
    await again.until(() => again.names().includes("mcp_one_later"));
  }, 60_000);

  it("are others for another program", async () => {
    await write({ one: hubServer({ pin: "strict" }) });
    await using lab = await openServersLab({ file });
    await lab.until(() => states(lab)["one"] === "ready");
    const { args } = hubServer() as { args: readonly string[] };
    await write({ one: { command: "node", args: [...args, "--", "other"], env: { SAYS: "Counts" }, pin: "strict" } });
    await lab.until(() => states(lab)["one"] !== "ready");
    await lab.until(() => states(lab)["one"] === "ready");
    expect([lab.servers.servers(LOCAL)[0]?.changed, await count(lab, "one")]).toEqual([undefined, "1"]);
  }, 60_000);
});
