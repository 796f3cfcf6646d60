import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it } from "vitest";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";
import type { TestHome } from "../support/served-home.ts";
import { shownData } from "../support/shown-result.ts";

interface Bridged {
  readonly url: string;
  readonly token?: string;
  readonly mode?: "auto" | "legacy";
}

/** The official client on `belljar mcp --gateway`. */
async function connect(home: TestHome, { url, token, mode = "auto" }: Bridged): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const env = { ...home.env, ...(token !== undefined && { BELLJAR_TOKEN: token }) };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp", "--gateway", url], env, stderr: "ignore" }),
  );
  return client;
}

/** The sandboxes of the caller, once it has its default one. */
async function sandboxesOf(client: Client): Promise<readonly string[]> {
  await client.callTool({ name: "run_command", arguments: { command: "true" } });
  const listed = await client.callTool({ name: "sandbox_list", arguments: {} });
  return (shownData(listed)["sandboxes"] as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
}

describe("belljar mcp --gateway", () => {
  it("is the holder of its token at the server", async () => {
    await using home = await openTestHome();
    await using server = await openTestServer(home);
    const made = JSON.parse(await home.belljar("token", "create", "ci", "--json")) as { token: string };
    const [holder, local] = [await connect(home, { url: server.url, token: made.token }), await connect(home, { url: server.url })];
    const [[held = "", ...more], others] = [await sandboxesOf(holder), await sandboxesOf(local)];
    expect(more).toEqual([]);
    expect(others).toHaveLength(1);
    expect(others).not.toContain(held);
    await holder.callTool({ name: "sandbox_kill", arguments: { id: held } });
    await Promise.all([holder.close(), local.close()]);
  });

  it("says of a wrong token what to do, and of a server that is not there", async () => {
    await using home = await openTestHome();
    await using server = await openTestServer(home);
    await expect(connect(home, { url: server.url, token: "wrong", mode: "legacy" })).rejects.toThrow(
      /does not know this token.*BELLJAR_TOKEN/,
    );
    await expect(connect(home, { url: "http://127.0.0.1:9", mode: "legacy" })).rejects.toThrow(/No Belljar answers.*belljar serve/);
  });

  it("carries on with a server that was started again", async () => {
    await using home = await openTestHome();
    const first = await openTestServer(home);
    const client = await connect(home, { url: first.url, mode: "legacy" });
    await client.callTool({ name: "write_file", arguments: { path: "note.txt", content: "kept" } });
    await first[Symbol.asyncDispose]();
    await using _second = await openTestServer(home, Number(new URL(first.url).port));
    const read = await client.callTool({ name: "read_file", arguments: { path: "note.txt" } });
    // The second server introduces the sandbox again.
    expect(read.content).toContainEqual({ type: "text", text: "kept" });
    await client.close();
  });
});
