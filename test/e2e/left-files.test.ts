import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { CLI, openTestHome } from "../support/served-home.ts";

it("a program's files come back from a fresh sandbox, and from one that is named", async () => {
  await using home = await openTestHome();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env: home.env, cwd: home.path }));
  try {
    const program = { language: "python", entrypoint_code: "open('sum.txt', 'w').write('42')" };
    const { structuredContent } = await client.callTool({ name: "sandbox_create", arguments: {} });
    const { id } = structuredContent as { readonly id: string };
    for (const sandbox of [undefined, id]) {
      const { content } = await client.callTool({ name: "execute_code", arguments: { ...program, sandbox } });
      expect(content).toMatchObject([{ text: expect.stringContaining("--- file sum.txt ---\n42\n[exit_code: 0") }]);
    }
    // Its folder is gone, and the sandbox stays as it was.
    const { content } = await client.callTool({ name: "run_command", arguments: { command: "ls; ls /tmp", sandbox: id } });
    expect(JSON.stringify(content)).not.toMatch(/sum\.txt|belljar-run/);
  } finally {
    await client.close();
  }
});
