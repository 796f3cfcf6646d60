import { EventEmitter, once } from "node:events";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome } from "../support/served-home.ts";

async function connect(home: TestHome, argv: readonly string[] = []) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, "mcp", ...argv],
    env: home.env,
    cwd: home.path,
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const run = async (name: string) => JSON.stringify(await client.callTool({ name: "execute_code", arguments: { snippet_name: name } }));
  /** Resolves once Belljar has said the text. */
  const hears = async (text: string) => {
    while (!said.includes(text)) await once(transport.stderr ?? new EventEmitter(), "data");
  };
  return { run, hears, said: () => said, [Symbol.asyncDispose]: () => client.close() };
}

it("snippets come from ./prompts if no folder is configured and it is there", async () => {
  await using home = await openTestHome();
  await using without = await connect(home);
  expect(await without.run("hello")).toContain("This server has no snippets");
  await mkdir(join(home.path, "prompts"));
  await writeFile(join(home.path, "prompts/hello.py"), "print('from a snippet')");
  await using host = await connect(home);
  expect(await host.run("hello")).toContain("from a snippet");
  expect(host.said() + without.said()).not.toContain("snippets");
});

it("snippets are not taken from a link in place of ./prompts, put there before the start or after it", async () => {
  await using home = await openTestHome();
  const [elsewhere, prompts] = [join(home.path, "elsewhere"), join(home.path, "prompts")];
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, "hello.py"), "print('from another folder')");
  await symlink(elsewhere, prompts);
  // A person may name a link.
  await using named = await connect(home, ["--snippets", "prompts"]);
  expect(await named.run("hello")).toContain("from another folder");
  await using before = await connect(home);
  expect(await before.run("hello")).toContain("This server has no snippets");
  await rename(prompts, join(home.path, "link"));
  await mkdir(prompts);
  await using after = await connect(home);
  expect(await after.run("hello")).toContain("SNIPPET_NOT_FOUND");
  await rename(prompts, join(home.path, "old"));
  await rename(join(home.path, "link"), prompts);
  expect(await after.run("hello")).toContain("FORBIDDEN");
});

it("a configured folder of snippets that cannot be read is told at the start, before anybody asks for one", async () => {
  await using home = await openTestHome();
  await using host = await connect(home, ["--snippets", "missing"]);
  await host.hears(`The snippets' folder ${join(home.path, "missing")} cannot be read (ENOENT)`);
  expect(await host.run("hello")).toContain("SNIPPET_NOT_FOUND");
});
