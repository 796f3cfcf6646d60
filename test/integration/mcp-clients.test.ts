import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";
import { shownData, shownText } from "../support/shown-result.ts";

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
    expect(shownText(result)).toMatch(/^--- stdout ---\n42\n--- stderr ---\n\[exit_code: 0, duration_ms: \d+\]$/);
  });

  it("finds in a later call what an earlier one wrote", async () => {
    await client.callTool({ name: "write_file", arguments: { path: "note.txt", content: "grüezi\n" } });
    const read = await client.callTool({ name: "read_file", arguments: { path: "note.txt" } });
    expect(read.content).toEqual([{ type: "text", text: "grüezi\n" }]);
    const ran = await client.callTool({ name: "run_command", arguments: { command: "cat note.txt; exit 3" } });
    expect(shownText(ran)).toMatch(/^grüezi\n\[exit_code: 3, duration_ms: \d+\]$/);
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
    expect(shownText(after)).toMatch(/^free\n/);
  });

  it("reads its sandbox and a file of it as resources", async () => {
    await client.callTool({ name: "write_file", arguments: { path: "shown.txt", content: "as a resource" } });
    const { resources } = await client.listResources();
    const uri = resources.find((one) => /^belljar:\/\/sandboxes\/[a-z0-9]{20}$/.test(one.uri))?.uri ?? "";
    const detail = (await client.readResource({ uri })).contents[0];
    expect(JSON.parse(detail && "text" in detail ? detail.text : "")).toMatchObject({
      state: "running",
      log: expect.arrayContaining([expect.stringContaining("write_file ok")]),
    });
    const file = await client.readResource({ uri: `${uri}/files/home/user/shown.txt` });
    expect(file.contents).toMatchObject([{ text: "as a resource" }]);
  });

  it("hears that a sandbox which it follows has ended", async () => {
    const made = await client.callTool({ name: "sandbox_create", arguments: {} });
    const id = String(shownData(made)["id"]);
    const uri = `belljar://sandboxes/${id}`;
    const updated = new Promise<string>((resolve) =>
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri)),
    );
    await (era === "modern" ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }));
    await client.callTool({ name: "sandbox_kill", arguments: { id } });
    expect(await updated).toBe(uri);
  });

  it("finds and calls a tool that its list does not show", async () => {
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("sandbox_read_file");
    const found = await client.callTool({ name: "search_tools", arguments: { query: "bytes of a file of a sandbox" } });
    expect(JSON.stringify(shownData(found))).toContain("sandbox_read_file");
    const called = await client.callTool({ name: "call_tool", arguments: { name: "sandbox_list", arguments: {} } });
    expect(shownData(called)).toMatchObject({ sandboxes: [{ state: "running" }] });
  });

  it("is given prompts to start with", async () => {
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain("start");
  });

  it("gets an error of the protocol for an unknown tool", async () => {
    await expect(client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });
});
