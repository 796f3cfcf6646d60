import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";

/** The official client, both eras, both transports, against the built command line and real sandboxes. */
const CASES = [
  { transport: "stdio", mode: "auto", era: "modern" },
  { transport: "stdio", mode: "legacy", era: "legacy" },
  { transport: "http", mode: "auto", era: "modern" },
  { transport: "http", mode: "legacy", era: "legacy" },
  { transport: "bridge", mode: "auto", era: "modern" },
  { transport: "bridge", mode: "legacy", era: "legacy" },
] as const;

describe.each(CASES)("the official client over $transport, $era", ({ transport, mode, era }) => {
  let home: TestHome;
  let server: TestServer | undefined;
  let client: Client;

  beforeAll(async () => {
    home = await openTestHome();
    server = transport === "stdio" ? undefined : await openTestServer(home);
    client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const gateway = transport === "bridge" && server ? ["--gateway", server.url] : [];
    await client.connect(
      transport === "http"
        ? new StreamableHTTPClientTransport(new URL(`${server?.url}/mcp`))
        : new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp", ...gateway], env: { ...home.env }, stderr: "inherit" }),
    );
  });

  afterAll(async () => {
    await client?.close();
    await server?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
  });

  it("agrees on the era", () => {
    expect(client.getProtocolEra()).toBe(era);
    expect(client.getServerVersion()).toMatchObject({ name: "belljar" });
  });

  it("lists the tools", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["execute_code", "run_command", "read_file", "write_file", "list_directory"]),
    );
  });

  it("runs a program", async () => {
    const result = await client.callTool({ name: "execute_code", arguments: { language: "python", entrypoint_code: "print(6 * 7)" } });
    expect(result).toMatchObject({ structuredContent: { stdout: "42\n", exit_code: 0 } });
  });

  it("finds in a later call what an earlier one wrote", async () => {
    await client.callTool({ name: "write_file", arguments: { path: "note.txt", content: "grüezi\n" } });
    const read = await client.callTool({ name: "read_file", arguments: { path: "note.txt" } });
    expect(read.content).toEqual([{ type: "text", text: "grüezi\n" }]);
    const ran = await client.callTool({ name: "run_command", arguments: { command: "cat note.txt; exit 3" } });
    expect(ran).toMatchObject({ structuredContent: { stdout: "grüezi\n", exit_code: 3, signal: null } });
  });

  it("sees progress of a command, and stops its processes by cancelling", async () => {
    const cancel = new AbortController();
    const seen: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string }): void => {
      seen.push(message);
      cancel.abort(new Error("changed my mind"));
    };
    // Every process of the command holds the lock until it is gone.
    const command = "exec 9>lock; flock 9; sleep 98765 & echo under way; sleep 98765";
    const call = client.callTool({ name: "run_command", arguments: { command } }, { signal: cancel.signal, onprogress });
    await expect(call).rejects.toThrow("changed my mind");
    expect(seen).toEqual(["under way"]);
    const after = await client.callTool({ name: "run_command", arguments: { command: "flock lock echo free" } });
    expect(after).toMatchObject({ structuredContent: { stdout: "free\n" } });
  });

  it("gets an error of the protocol for an unknown tool", async () => {
    await expect(client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });
});
