import { mkdtempSync, readFileSync, rmSync, watch } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { describe, expect, it } from "vitest";
import { isRunning } from "../../support/is-running.ts";
import { openServers as open, textOf } from "../../support/mcp-client.ts";

const PEER = join(import.meta.dirname, "../../fixtures/mcp-peer.mjs");
const peer = (mode: string): object => ({ command: process.execPath, args: [PEER, mode], env: { MODE: mode } });

function makeFolder(): Disposable & { readonly file: string } {
  const path = mkdtempSync(join(tmpdir(), "belljar-pids-"));
  return { file: join(path, "pid"), [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

async function serveHttp(token: string) {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "far", version: "1" });
    server.registerTool("far", {}, async () => ({ content: [{ type: "text", text: "from far" }] }));
    return server;
  });
  const answer = toNodeHandler(handler);
  const server = createServer((request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) void answer(request, response);
    else response.writeHead(401).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      await handler.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("a program", () => {
  it.each([
    ["modern", "modern"],
    ["legacy", "legacy"],
    ["noisy", "modern"],
  ])("that is %s is called in the %s era", async (mode, era) => {
    await using client = await open({ one: peer(mode) });
    expect(client.servers).toEqual([
      { name: "one", state: "ready", era, instructions: undefined, capabilities: expect.anything() as unknown },
    ]);
    expect(textOf(await client.callTool({ server: "one", tool: "echo", arguments: { text: "hello" } }))).toBe("hello");
    expect((await client.listResources("one")).map(({ uri }) => uri)).toEqual(["note://one"]);
    expect(await client.readResource("one", "note://one")).toMatchObject({ contents: [{ text: "a note" }] });
    expect(await client.listPrompts("one")).toEqual([]);
  });

  it("gets listed variables and its own, and no others", async () => {
    await using client = await open({ one: peer("modern") });
    const env = JSON.parse(textOf(await client.callTool({ server: "one", tool: "env" }))) as object;
    expect(env).toMatchObject({ HOME: "/home/ann", MODE: "modern" });
    expect(Object.keys(env)).not.toContain("AWS_SECRET_ACCESS_KEY");
  });

  it("lists all its pages, with fields that nobody knows, and without what is no tool", async () => {
    await using client = await open({ one: peer("pages") });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(120);
    expect(tools.at(-1)).toMatchObject({ name: "one__tool-119", tool: "tool-119", definition: { vendor: 1 } });
    await expect(client.callTool({ server: "one", tool: "x" })).rejects.toMatchObject({
      code: "SERVER_REFUSED",
      message: 'The server "one" refused tools/call: \\u{1b}[31mno (-32601)',
    });
  });

  it("ends a call that takes too long, and one that is cancelled, and serves the next", async () => {
    await using client = await open({ one: peer("modern") });
    await expect(client.callTool({ server: "one", tool: "hang" }, { timeoutMs: 50 })).rejects.toMatchObject({ code: "EXEC_TIMEOUT" });
    const cancel = new AbortController();
    const hanging = client.callTool({ server: "one", tool: "hang" }, { signal: cancel.signal });
    cancel.abort();
    await expect(hanging).rejects.toMatchObject({ code: "CANCELLED" });
    expect(textOf(await client.callTool({ server: "one", tool: "echo", arguments: { text: "on" } }))).toBe("on");
  });

  it("ends with its whole process group", async () => {
    const pids: number[] = [];
    {
      await using client = await open({ one: peer("leaves-child") });
      const { SELF, CHILD } = JSON.parse(textOf(await client.callTool({ server: "one", tool: "env" }))) as Record<string, string>;
      pids.push(Number(SELF), Number(CHILD));
      expect(pids.map(isRunning)).toEqual([true, true]);
    }
    expect(pids.map(isRunning)).toEqual([false, false]);
  });
});

/** A server that writes its pid into a file, and never answers. */
function silentServer(file: string): object {
  return { command: "sh", args: ["-c", 'echo $$ > "$1.new"; mv "$1.new" "$1"; exec cat > /dev/null', "sh", file] };
}

it("starts the good servers beside those that fail, each with its reason", async () => {
  using folder = makeFolder();
  const servers = {
    good: peer("modern"),
    dies: peer("dies"),
    silent: silentServer(folder.file),
    missing: { command: "/no/such/program" },
    unset: { command: "a", args: ["${NOPE}"] },
    off: { command: "/no/such/program", disabled: true },
  };
  await using client = await open(servers, { startTimeoutMs: 3000 });
  const shown = Object.fromEntries(client.servers.map(({ name, state, error }) => [name, [state, error?.code, error?.message]]));
  expect(shown).toEqual({
    good: ["ready", undefined, undefined],
    dies: [
      "failed",
      "SERVER_UNREACHABLE",
      expect.stringMatching(/"dies"[^]*exit code 3(?: before it answered)?\n {2}first\n {2}\\u\{1b\}\[31mno database$/),
    ],
    silent: ["failed", "SERVER_UNREACHABLE", expect.stringContaining('"silent" did not answer within 3000 ms')],
    missing: ["failed", "SERVER_UNREACHABLE", expect.stringContaining("there is no program /no/such/program")],
    unset: ["failed", "CONFIG_INVALID", expect.stringContaining("the variable NOPE is not set")],
    off: ["disabled", undefined, undefined],
  });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["good__env", "good__echo", "good__hang"]);
  expect(isRunning(Number(readFileSync(folder.file, "utf8")))).toBe(false);
});

it("ends the servers that started when the start is cancelled", async () => {
  using folder = makeFolder();
  const cancel = new AbortController();
  const watcher = watch(dirname(folder.file), (_event, name) => {
    if (name === "pid") cancel.abort();
  });
  const opening = open({ good: peer("modern"), silent: silentServer(folder.file) }, { signal: cancel.signal });
  await expect(opening).rejects.toMatchObject({ code: "CANCELLED" });
  watcher.close();
  expect(isRunning(Number(readFileSync(folder.file, "utf8")))).toBe(false);
});

it("reaches a server over HTTP with its token, and says that one without is refused", async () => {
  await using far = await serveHttp("t0ken");
  const servers = {
    good: { url: far.url, headers: { Authorization: "Bearer ${TOKEN}" } },
    bad: { url: far.url },
    gone: { url: "http://127.0.0.1:1/mcp" },
  };
  await using client = await open(servers);
  expect(client.servers.map(({ name, error }) => [name, error?.code])).toEqual([
    ["good", undefined],
    ["bad", "UNAUTHORIZED"],
    ["gone", "SERVER_UNREACHABLE"],
  ]);
  expect(textOf(await client.callTool({ server: "good", tool: "far" }))).toBe("from far");
});
