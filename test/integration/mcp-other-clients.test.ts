import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";
import { shownText } from "../support/shown-result.ts";

const INSPECTOR = resolve(import.meta.dirname, "../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const run = promisify(execFile);

let home: TestHome;
let server: TestServer;

beforeAll(async () => {
  home = await openTestHome();
  server = await openTestServer(home);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
});

describe("the Inspector", () => {
  const target = (transport: string): string[] =>
    transport === "stdio" ? [process.execPath, CLI, "mcp"] : [`${server.url}/mcp`, "--transport", "http"];
  const inspect = async (transport: string, ...argv: string[]): Promise<unknown> => {
    const { stdout } = await run(process.execPath, [INSPECTOR, "--cli", ...target(transport), ...argv, "--format", "json", "-q"], {
      env: home.env,
    });
    return JSON.parse(stdout);
  };

  it.each(["stdio", "http"])("finds the tools and no fault in their schemas over %s", async (transport) => {
    const answer = await inspect(transport, "--method", "tools/list", "--strict");
    expect(JSON.stringify(answer)).toContain("execute_code");
  });

  it.each(["stdio", "http"])("runs a command over %s", async (transport) => {
    const args = JSON.stringify({ command: "echo $((6 * 7))" });
    const answer = await inspect(transport, "--method", "tools/call", "--tool-name", "run_command", "--tool-args-json", args);
    expect(shownText((answer as { result: object }).result)).toMatch(/^42\n/m);
  });
});

describe("a client of the first SDK", () => {
  const open = async (transport: string): Promise<Client> => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(
      transport === "stdio"
        ? new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env: { ...home.env } })
        : new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)),
    );
    return client;
  };

  it.each(["stdio", "http"])("lists and calls tools over %s", async (transport) => {
    const client = await open(transport);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("run_command");
    const result = await client.callTool({ name: "run_command", arguments: { command: "echo hello" } });
    expect(shownText(result)).toMatch(/^hello\n\[exit_code: 0, /m);
    await client.close();
  });
});

describe("belljar mcp", () => {
  it("writes nothing but messages of the protocol to stdout, whatever a program prints", async () => {
    const child = spawn(process.execPath, [CLI, "mcp"], { env: home.env, stdio: ["pipe", "pipe", "inherit"] });
    const chunks: Buffer[] = [];
    const answered = new Promise<void>((done) => {
      child.stdout.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (Buffer.concat(chunks).includes('"id":3')) done();
      });
    });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const code = { language: "python", entrypoint_code: 'print(\'{"jsonrpc": "2.0"}\')' };
    const messages = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "execute_code", arguments: code } },
    ];
    child.stdin.write(`not JSON at all\n${messages.map((message) => `${JSON.stringify(message)}\n`).join("")}`);
    await answered;
    child.stdin.end();
    const [exitCode] = await once(child, "exit");
    expect(exitCode).toBe(0);
    const lines = Buffer.concat(chunks).toString().trimEnd().split("\n");
    expect(new Set(lines.map((line) => (JSON.parse(line) as { id: number }).id))).toEqual(new Set([1, 2, 3]));
  });

  it("ends with its input, and kills what a call left running", async () => {
    const child = spawn(process.execPath, [CLI, "mcp", "--sandbox", "ends"], { env: home.env, stdio: ["pipe", "pipe", "inherit"] });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const call = {
      name: "run_command",
      arguments: { command: "exec 9>lock; flock 9; echo locked; sleep 98765" },
      _meta: { progressToken: "p" },
    };
    for (const message of [
      { jsonrpc: "2.0", id: 1, method: "initialize", params },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: call },
    ]) {
      child.stdin.write(`${JSON.stringify(message)}\n`);
    }
    await new Promise<void>((done) => {
      child.stdout.on("data", (chunk) => {
        if (String(chunk).includes("notifications/progress")) done();
      });
    });
    child.stdin.end();
    expect((await once(child, "exit"))[0]).toBe(0);

    const client = new Client({ name: "test", version: "1" });
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp", "--sandbox", "ends"], env: { ...home.env } }),
    );
    const after = await client.callTool({ name: "run_command", arguments: { command: "flock lock echo free" } });
    expect(shownText(after)).toMatch(/^free\n/m);
    await client.close();
  });
});
