import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { CLI, openTestHome } from "../support/served-home.ts";

it("serves a client through ssh: HOST belljar mcp, with what a login there has and no more", async () => {
  await using home = await openTestHome();
  const bin = join(home.path, "bin");
  await mkdir(bin);
  // As sshd: the words are joined, a shell of a bare environment runs them in the home, and stdin and stdout are pipes.
  const ssh = `#!/bin/sh\nshift\ncd "${home.path}" && exec env -i HOME="${home.path}" PATH="${bin}:/usr/bin:/bin" sh -c "$*"\n`;
  const belljar = `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`;
  for (const [name, text] of [["ssh", ssh] as const, ["belljar", belljar] as const]) {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  }
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: join(bin, "ssh"), args: ["host", "belljar", "mcp"], env: {}, stderr: "inherit" }),
  );
  const { content } = await client.callTool({ name: "run_command", arguments: { command: "echo far away" } });
  expect(JSON.stringify(content)).toContain("far away");
  await client.close();
});
