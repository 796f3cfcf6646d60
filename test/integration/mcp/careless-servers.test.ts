import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/mcp/client/json-object.ts";
import type { McpClient, WireRecord } from "../../../src/mcp/client/mcp-client.ts";
import { carelessServer as careless, richServer } from "../../support/mcp-config.ts";
import { openServers, textOf } from "../../support/mcp-client.ts";

const call = async (client: McpClient, tool: string, args: object = {}): Promise<string> =>
  textOf(await client.callTool({ server: "bad", tool, arguments: { ...args } }));
const echo = async (client: McpClient): Promise<string> => call(client, "echo", { text: "on" });

describe("a server", () => {
  it.each([
    ["answers twice", "twice", "first"],
    ["prints logs and halves of messages to stdout", "noise", "worked"],
  ])("that %s is understood, and serves the next call", async (_what, tool, said) => {
    await using client = await openServers({ bad: careless() });
    expect(await call(client, tool)).toBe(said);
    expect(await echo(client)).toBe("on");
  });

  it.each([
    ["answers with a wrong id", "wrong"],
    ["answers with a number", "broken"],
    ["never answers", "never"],
  ])("that %s has its time, and serves the next call", async (_what, tool) => {
    await using client = await openServers({ bad: careless() });
    await expect(client.callTool({ server: "bad", tool }, { timeoutMs: 50 })).rejects.toMatchObject({
      code: "EXEC_TIMEOUT",
      message: 'The server "bad" did not answer tools/call in time',
    });
    expect(await echo(client)).toBe("on");
  });

  it("that answers late does not answer another call with it", async () => {
    await using client = await openServers({ bad: careless() });
    await expect(client.callTool({ server: "bad", tool: "hold" }, { timeoutMs: 50 })).rejects.toMatchObject({ code: "EXEC_TIMEOUT" });
    expect(await call(client, "late")).toBe("own");
  });

  it("that sends 50 MB at once is ended, which the call says, and the next call starts it again", async () => {
    await using client = await openServers({ bad: careless() });
    await expect(call(client, "huge")).rejects.toMatchObject({
      code: "RESULT_TOO_LARGE",
      message: 'The server "bad" sent a message that is too large',
    });
    expect(await echo(client)).toBe("on");
  });

  it("that asks without end and reads no answer is ended, which the call says, and the next call starts it again", async () => {
    await using client = await openServers({ bad: careless() });
    await expect(call(client, "flood")).rejects.toMatchObject({
      code: "SERVER_INCOMPATIBLE",
      message: 'The server "bad" does not read what it is sent',
    });
    expect(await echo(client)).toBe("on");
  });

  it("that asks much and reads late gets its answers, also behind requests that are large", async () => {
    await using client = await openServers({ bad: careless() });
    const large = "x".repeat(9_000_000);
    const echoes = [1, 2, 3].map(async () => call(client, "echo", { text: large }));
    expect(await call(client, "slow")).toBe("read");
    expect((await Promise.all(echoes)).map(({ length }) => length)).toEqual([large.length, large.length, large.length]);
  });

  it("that dies in a call fails that call with its last lines, and the next call starts it again", async () => {
    await using client = await openServers({ bad: careless(), good: richServer() });
    await expect(call(client, "die")).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: expect.stringMatching(/^The server "bad" was ended by SIGKILL before it answered\n {2}no memory$/) as unknown,
    });
    const [again, other] = await Promise.all([echo(client), client.callTool({ server: "good", tool: "add", arguments: { a: 1 } })]);
    expect([again, textOf(other)]).toEqual(["on", "1"]);
  });

  it("that died is started once for all calls that wait, and not for one that gave up", async () => {
    const folder = mkdtempSync(join(tmpdir(), "belljar-starts-"));
    try {
      const file = join(folder, "starts");
      await using client = await openServers({ bad: careless("plain", { STARTS: file }) });
      await expect(call(client, "die")).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
      const gone = client.callTool({ server: "bad", tool: "echo" }, { signal: AbortSignal.abort() });
      await expect(gone).rejects.toMatchObject({ code: "CANCELLED" });
      expect(await Promise.all([echo(client), echo(client), echo(client)])).toEqual(["on", "on", "on"]);
      expect(readFileSync(file, "utf8")).toBe("started\n".repeat(2));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("that died is not started any more once the client is closed", async () => {
    const client = await openServers({ bad: careless() });
    await expect(call(client, "die")).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    await client[Symbol.asyncDispose]();
    await expect(echo(client)).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("that ends when it is asked for its era is started a second time", async () => {
    const folder = mkdtempSync(join(tmpdir(), "belljar-starts-"));
    try {
      const file = join(folder, "starts");
      await using client = await openServers({ bad: careless("strict", { STARTS: file }) });
      expect(client.servers).toMatchObject([{ state: "ready", era: "legacy" }]);
      expect(await echo(client)).toBe("on");
      expect(readFileSync(file, "utf8")).toBe("started\n".repeat(2));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("may have 10,000 tools with names that no model takes, and each has a name of its own", async () => {
    await using client = await openServers({ bad: careless("many"), good: richServer() });
    const { tools, problems } = await client.listTools();
    expect(problems).toEqual([]);
    expect(tools.length).toBeGreaterThan(10_000);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    expect(tools.filter(({ name }) => !/^[\w-]{1,64}$/.test(name))).toEqual([]);
  });

  it("is not asked for its list when that of another one is wanted", async () => {
    const asked: unknown[] = [];
    const onMessage = ({ server, message }: WireRecord): void => void asked.push([server, (message as JsonObject)["method"]]);
    await using client = await openServers({ bad: careless("circle"), good: richServer() }, { onMessage });
    const { tools, problems } = await client.listTools({ server: "good" });
    expect([tools.map(({ name }) => name).includes("good__add"), problems]).toEqual([true, []]);
    expect(asked).not.toContainEqual(["bad", "tools/list"]);
    await expect(client.listTools({ server: "none" })).rejects.toMatchObject({ code: "USAGE" });
  });

  it("whose list does not end spoils no other list", async () => {
    await using client = await openServers({ bad: careless("circle"), good: richServer() });
    const { tools, problems } = await client.listTools();
    expect(problems.map(({ code }) => code)).toEqual(["RESULT_TOO_LARGE"]);
    expect(tools.map(({ name }) => name)).toContain("good__add");
  });
});
