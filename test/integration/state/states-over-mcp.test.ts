import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { openProjectFolder } from "../../support/project-folder.ts";
import { CLI, openTestHome, type TestHome } from "../../support/served-home.ts";

interface Called {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function connect(home: Pick<TestHome, "path">, env: TestHome["env"]) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env: { ...env }, cwd: home.path }));
  const call = async (name: string, args: object): Promise<Called> => {
    const { content, structuredContent = {} } = await client.callTool({ name, arguments: { ...args } });
    return {
      text: content.map((block) => (block.type === "text" ? block.text : "")).join("\n"),
      data: structuredContent as Called["data"],
    };
  };
  return { client, call };
}

it("goes back, compares, forks and merges over stdio, as an agent does", async () => {
  await using home = await openTestHome();
  const { client, call } = await connect(home, home.env);
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

it("takes calls back, as an agent does and as a person does", async () => {
  await using home = await openTestHome();
  const env = { ...home.env, BELLJAR_SANDBOX_AUTO_CHECKPOINT: "per_call" };
  const { client, call } = await connect(home, env);
  const belljar = async (...argv: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [CLI, ...argv], { env: { ...env } })).stdout;
  const read = async (): Promise<string> => (await call("read_file", { path: "a.txt" })).text;
  for (const text of ["one", "two", "three"]) await call("run_command", { command: `echo ${text} >> a.txt` });
  await call("run_command", { command: "exec sleep 600", background: true });

  const { checkpoint_id: point, ended } = (await call("sandbox_rollback", { calls: 2 })).data;
  expect(ended).toEqual([expect.stringContaining("background process")]);
  expect(await read()).toBe("one\ntwo\n");
  expect((await call("sandbox_rollback", {})).text).toMatch(/^ARGUMENTS_INVALID: Give either checkpoint_id, or calls/);
  expect((await call("sandbox_rollback", { calls: 3 })).text).toMatch(/^CHECKPOINT_NOT_FOUND: .*2 calls have a checkpoint/);
  const { checkpoints, head_id: head } = (await call("sandbox", { action: "log" })).data as {
    readonly checkpoints: readonly { readonly checkpoint_id: string; readonly before_tool: string }[];
    readonly head_id: string;
  };
  expect([checkpoints.map((one) => one.before_tool), head]).toEqual([["sandbox_rollback", ...Array(4).fill("run_command")], point]);
  await call("sandbox_rollback", { checkpoint_id: checkpoints[0]?.checkpoint_id });
  expect(await read()).toBe("one\ntwo\nthree\n");

  const id = (await belljar("sandbox", "list", "--quiet")).trim();
  expect(await belljar("log", id)).toMatch(/^\* now {2}running\n[^]* {2}before sandbox_rollback {2}[^]* {2}before run_command {2}/);
  const told = JSON.parse(await belljar("rewind", id, "--json")) as object;
  expect(told).toMatchObject({ id, before: "run_command", ended: [], lost: [] });
  expect(await belljar("rewind", id, "--calls", "2")).toMatch(new RegExp(`^${id} is back at \\w{8}, before run_command\n$`));
  expect(await read()).toMatch(/one\n$/);
  const first = checkpoints.at(-1)?.checkpoint_id ?? "";
  expect(await belljar("rewind", id, first)).toBe(`${id} is back at ${first}, before run_command\n`);
  const asked = (await call("sandbox_checkpoint", {})).data["checkpoint_id"] as string;
  await expect(belljar("rewind", id, asked)).rejects.toMatchObject({ stderr: expect.stringContaining("no checkpoint") });
  await expect(belljar("rewind", id, first, "-n", "2")).rejects.toMatchObject({ code: 2 });
  await client.close();
}, 120_000);

it("tells an agent what of a folder has changed since a snapshot, and takes the folder in", async () => {
  await using home = await openTestHome();
  await using folder = await openProjectFolder();
  await writeFile(`${folder.path}/a`, "first\n");
  const client = new Client({ name: "test", version: "1" });
  const args = [CLI, "mcp", "--workspace", folder.path];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...home.env }, cwd: home.path }));
  const call = async (name: string, asked: object): Promise<Readonly<Record<string, unknown>>> => {
    const { structuredContent = {}, isError } = await client.callTool({ name, arguments: { ...asked } });
    expect(isError ?? false).toBe(false);
    return structuredContent as Readonly<Record<string, unknown>>;
  };
  const { snapshot_id: part } = await call("sandbox_snapshot", {});
  const { snapshot_id: whole, ...told } = await call("sandbox_snapshot", { whole: true });
  expect(told["took_in"]).toBe(folder.path);
  await writeFile(`${folder.path}/a`, "second\n");
  const changed = [expect.stringContaining("has changed on the host since")];
  expect((await call("sandbox_fork", { snapshot_id: part }))["lost"]).toEqual(changed);
  expect((await call("sandbox_create", { template: part }))["lost"]).toEqual(changed);
  expect(await call("sandbox_create", {})).not.toHaveProperty("lost");
  const { id, ...own } = await call("sandbox_fork", { snapshot_id: whole });
  expect(own).not.toHaveProperty("lost");
  const { content } = await client.callTool({ name: "run_command", arguments: { sandbox: id, command: "cat a" } });
  expect(content[0]).toMatchObject({ text: expect.stringMatching(/^first\n/) }); // commands start in the folder
  await client.close();
}, 120_000);
