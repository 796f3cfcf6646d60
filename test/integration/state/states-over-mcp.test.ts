import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { CLI, openTestHome } from "../../support/served-home.ts";

interface Called {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

it("goes back, compares, forks and merges over stdio, as an agent does", async () => {
  await using home = await openTestHome();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env: { ...home.env }, cwd: home.path }));
  const call = async (name: string, args: object): Promise<Called> => {
    const { content, structuredContent = {} } = await client.callTool({ name, arguments: { ...args } });
    return {
      text: content.map((block) => (block.type === "text" ? block.text : "")).join("\n"),
      data: structuredContent as Called["data"],
    };
  };
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["sandbox_checkpoint", "sandbox_rollback"]),
  );
  await call("run_code", { code: "x = 41\nprint(x, file=open('a.txt', 'w'))" });
  await call("run_command", { command: "exec sleep 600", background: true });
  const { checkpoint_id: point } = (await call("sandbox_checkpoint", { label: "before" })).data;
  await call("run_command", { command: "echo changed > a.txt; echo new > b.txt" });
  expect((await call("sandbox", { action: "diff" })).text).toMatch(
    /^changed \/home\/user\/a\.txt\nadded {3}\/home\/user\/b\.txt\n[^]*\n-41\n\+changed\n/,
  );
  const back = await call("sandbox_rollback", { checkpoint_id: point });
  expect(back.data).toMatchObject({ checkpoint_id: point, lost: [] });
  expect(back.data["ended"]).toEqual([expect.stringContaining("python"), expect.stringContaining("background process")]);
  expect((await call("run_command", { command: "cat a.txt; ls" })).text).toMatch(/^41\na\.txt\n/);
  expect((await call("run_code", { code: "x" })).text).toMatch(/NameError[^]*a new context/);
  const { id: fork } = (await call("sandbox", { action: "fork" })).data;
  await call("run_command", { command: "echo idea > idea.txt", sandbox: fork });
  expect((await call("sandbox", { action: "merge", from_id: fork })).data).toEqual({ changed: ["/home/user/idea.txt"], conflicts: [] });
  expect((await call("run_command", { command: "cat idea.txt" })).text).toMatch(/^idea\n/);
  expect((await call("sandbox_rollback", { checkpoint_id: "nope" })).text).toMatch(/^CHECKPOINT_NOT_FOUND: .* no checkpoint "nope"/);
  await client.close();
}, 120_000);
