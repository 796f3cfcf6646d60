import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect } from "vitest";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { listed } from "../support/listed.ts";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { textOf } from "../support/tool-caller.ts";
import { makeOwned, walkResources, walkTool } from "./support/walk-owned.ts";
import { verifies } from "./verifies.ts";

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

// Every tool and resource.
verifies("projects-apart", async () => {
  await using lab = await openTeamLab();
  const agent = (folder: string, sees: "own" | "all" = "own"): Principal => ({
    ...lab.alice.principal,
    project: { folder, sees, defaultName: folder },
  });
  const [owner, stranger] = [agent("/home/ada/one"), agent("/home/ada/two")];
  const walk = { owned: await makeOwned(lab, owner), owner, stranger };
  const read = (who: Principal) => lab.catalog.call(who, "read_file", { path: "note", sandbox: walk.owned.sandbox }, { signal: soon() });
  // The attack works for one who may see all.
  for (const who of [owner, lab.alice.principal, agent("/home/ada/two", "all")]) expect(textOf(await read(who))).toContain("of the owner");
  let walked = 0;
  for (const tool of lab.catalog.listAll(stranger)) walked += await walkTool(lab, tool, walk);
  expect(walked).toBeGreaterThan(45);
  await walkResources(lab, walk);
  expect((await lab.sandboxes.info(owner, walk.owned.sandbox)).state).toBe("running");
  expect((await listed(lab.sandboxes, stranger)).map(({ project }) => project)).not.toContain("/home/ada/one");
});

// Events, and an agent that names another project.
verifies("projects-apart", async () => {
  await using lab = await openTeamLab();
  const agent = (folder: string): Principal => ({ ...lab.alice.principal, project: { folder, sees: "own" } });
  const events = lab.sandboxes.events(agent("/home/ada/one"), soon())[Symbol.asyncIterator]();
  expect((await events.next()).value).toEqual({ type: "resync" });
  const other = await lab.sandboxes.create(agent("/home/ada/two"), { project: "/home/ada/one" }, soon());
  await other.kill();
  const own = await lab.sandboxes.create(agent("/home/ada/one"), {}, soon());
  expect((await events.next()).value).toEqual({ type: "created", sandbox: own.id });
  await events.return?.();
});

/** `belljar mcp` as a host starts it in a folder: it, or the server that it forwards to, offers every tool. */
async function connect(home: TestHome, folder: string, ...argv: string[]) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp", ...argv], env: { ...home.env }, cwd: folder });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return {
    async call(name: string, args: Record<string, unknown>): Promise<string> {
      return JSON.stringify((await client.callTool({ name, arguments: args })).content);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const EVERY_TOOL = ["--toolsets", "all"];

/** An agent of one project writes into the folder of another one through its sandbox, which has it as rw. */
async function attack(home: TestHome, ...argv: string[]) {
  const [one, two] = [join(home.path, "one"), join(home.path, "two")];
  for (const folder of [one, two]) await mkdir(folder, { recursive: true });
  await writeFile(join(one, "plan.txt"), "of one");
  await using victim = await connect(home, one, "--workspace", ".:rw", ...argv.filter((arg) => arg !== "--all-sandboxes"));
  await victim.call("run_command", { command: "true" });
  const [{ id: sandbox = "" } = {}] = JSON.parse(await home.belljar("sandbox", "list", "--json")) as { id?: string }[];
  await using attacker = await connect(home, two, ...argv);
  const shown = await attacker.call("sandbox_list", {});
  const read = await attacker.call("read_file", { path: "plan.txt", sandbox });
  const written = await attacker.call("write_file", { path: "plan.txt", content: "of two", sandbox });
  const ended = await attacker.call("sandbox_kill", { id: sandbox.slice(0, 8) });
  return { sandbox, shown, read, written, ended, file: await readFile(join(one, "plan.txt"), "utf8") };
}

for (const way of ["stdio", "a server"] as const) {
  const gateway = async (home: TestHome) => {
    const server = way === "a server" ? await openTestServer(home, 0, ...EVERY_TOOL) : undefined;
    return { argv: server ? ["--gateway", server.url] : EVERY_TOOL, [Symbol.asyncDispose]: async () => server?.[Symbol.asyncDispose]() };
  };
  verifies("projects-apart", async () => {
    await using home = await openTestHome();
    await using served = await gateway(home);
    const { sandbox, shown, read, written, ended, file } = await attack(home, ...served.argv);
    expect(sandbox).toMatch(/^[a-z0-9]{20}$/);
    expect(shown).not.toContain(sandbox.slice(0, 8));
    for (const answer of [read, written, ended]) expect(answer).toContain("SANDBOX_NOT_FOUND");
    expect(file).toBe("of one");
    expect(await home.belljar("sandbox", "list")).toMatch(new RegExp(`^${sandbox} .*${join(home.path, "one")}`, "m"));
  });
}

// The same attack works with --all-sandboxes.
verifies("projects-apart", async () => {
  await using home = await openTestHome();
  const { sandbox, shown, read, written, file } = await attack(home, ...EVERY_TOOL, "--all-sandboxes");
  expect(shown).toContain(sandbox.slice(0, 8));
  expect(read).toContain("of one");
  expect(written).not.toContain("SANDBOX_NOT_FOUND");
  expect(file).toBe("of two");
});
