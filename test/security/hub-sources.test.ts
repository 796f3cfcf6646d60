import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { fileApprovalsFolder } from "../../src/cli/compose/open-hub.ts";
import { approveInHome, waitingInHome } from "../../src/mcp/proxy/sources/file-approvals.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { hubServer, openHubLab } from "../support/hub-lab.ts";
import { openServersLab, type ServersLab } from "../support/servers-lab.ts";
import { textOf } from "../support/tools-lab.ts";
import { verifies } from "./verifies.ts";

const ANN: Principal = { id: "token:ann", name: "ann", grants: {} };

/** A program that writes to the host as soon as it is started. */
const starts = (path: string, more: object = {}) => ({ command: "sh", args: ["-c", `echo run > ${path}`], ...more });

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bj-sources-"));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const failed = (lab: ServersLab, name: string, principal = LOCAL) =>
  lab.until(() => lab.servers.servers(principal).find((one) => one.name === name)?.state === "failed");
const read = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "not there");

verifies(
  "servers-from-the-network",
  () =>
    withFolder(async (folder) => {
      const [secret, mark] = [join(folder, "secret"), join(folder, "mark")];
      await writeFile(secret, "kept");
      const env = { TOKEN: "s3cret", PATH: process.env["PATH"] ?? "" };
      const file = join(folder, "mcp.json");
      const raw = hubServer({ secrets: { key: { env: "KEY", deliver: "raw" } } });
      const entries = {
        bare: starts(mark, { isolation: "none" }),
        told: hubServer({ env: { GIVEN: "${TOKEN}" }, mounts: [{ host: folder }] }),
      };
      await writeFile(file, JSON.stringify({ mcpServers: entries }));
      await using lab = await openServersLab({ file, env });
      await failed(lab, "bare");
      await lab.until(() => lab.names().includes("mcp_told_count"));
      const where = textOf(await lab.call("mcp_told_where", { path: "/workspace/secret" }));
      expect(
        [await read(mark), where.includes("s3cret"), where.includes('"sees":true')],
        "the attack works by a file that a person named",
      ).toEqual(["run\n", true, true]);
      // A server that has failed is tried again.
      await writeFile(file, JSON.stringify({ mcpServers: { told: entries.told } }));
      await lab.until(() => lab.servers.servers(LOCAL).length === 1);
      await rm(mark);
      const manager = await lab.token("ann", "servers");
      for (const token of [undefined, manager])
        for (const entry of [...Object.values(entries), raw]) {
          expect(await lab.ask("POST /v1/servers", { name: "sly", ...entry }, token)).toMatchObject({ status: 403 });
          expect(await lab.ask("POST /custom-mcp", { mcpServers: { sly: entry } }, token)).toMatchObject({ status: 403 });
        }
      // Allowed, and without the host: the path is looked for inside, where nothing is.
      const plain = { ...hubServer(), cwd: "/" };
      expect(await lab.ask("POST /custom-mcp", { mcpServers: { plain, gone: starts(mark) } })).toMatchObject({ status: 200 });
      const inside = textOf(await lab.call("mcp_plain_where", { path: secret }));
      expect([await read(mark), inside.includes("s3cret"), inside.includes('"sees":true')]).toEqual(["not there", false, false]);
    }),
  120_000,
);

verifies(
  "servers-approved",
  () =>
    withFolder(async (folder) => {
      const mark = join(folder, "mark");
      const mounted = { command: "sh", args: ["-c", "echo run > /workspace/mark"], mounts: [{ host: folder, mode: "rw" }] };
      await using lab = await openServersLab();
      const bare = await lab.token("ann", "workspaces");
      const manager = await lab.token("ann", "servers", "workspaces");
      const sent = await lab.ask("POST /custom-mcp", { mcpServers: { hers: mounted } }, bare);
      expect(sent).toMatchObject({ answer: { servers: { hers: { state: "needs_approval" } } } });
      for (const route of ["POST /v1/servers/hers/approve", "POST /v1/servers/hers/restart"])
        expect(await lab.ask(route, route.endsWith("approve") ? {} : undefined, bare)).toMatchObject({ status: 403 });
      // It is another owner's, whom nobody else is told of.
      expect(await lab.ask("POST /v1/servers/hers/approve", {})).toMatchObject({ status: 404 });
      const { answer } = await lab.ask("GET /v1/servers/hers", undefined, manager);
      await lab.ask("POST /custom-mcp", { mcpServers: { hers: { ...mounted, args: ["-c", "echo worse > /workspace/mark"] } } }, bare);
      expect(await lab.ask("POST /v1/servers/hers/approve", { digest: answer["digest"] }, manager)).toMatchObject({ status: 409 });
      expect(await read(mark)).toBe("not there");
      expect(await lab.ask("POST /v1/servers/hers/approve", {}, manager)).toMatchObject({ status: 200 });
      await failed(lab, "hers", ANN);
      expect(await read(mark), "it does so once it is approved").toBe("worse\n");
    }),
  120_000,
);

verifies(
  "servers-file-untrusted",
  () =>
    withFolder(async (folder) => {
      const [shown, mark] = [join(folder, "shown"), join(folder, "mark")];
      await mkdir(shown);
      const file = join(shown, "mcp.json");
      const write = (text: string) => writeFile(file, text);
      await write('{"mcpServers": {}}');
      await using lab = await openServersLab({ file });
      const evil = JSON.stringify({ mcpServers: { evil: starts(mark, { isolation: "none" }) } });
      await write(evil);
      await failed(lab, "evil");
      expect(await read(mark), "what a person writes to the file is started").toBe("run\n");
      await write('{"mcpServers": {}}');
      await lab.until(() => lab.servers.servers(LOCAL).length === 0);
      await rm(mark);
      const signal = AbortSignal.timeout(60_000);
      const sandbox = await lab.sandboxes.create(LOCAL, { workspace: { path: shown, mode: "rw" } }, signal);
      try {
        const worse = JSON.stringify({ mcpServers: { evil: starts(mark, { isolation: "none", env: { AGAIN: "1" } }) } });
        const { exitCode } = await sandbox.guest.run({ argv: ["sh", "-c", `printf %s '${worse}' > /workspace/mcp.json`], signal });
        expect(exitCode).toBe(0);
        await lab.until(() => lab.servers.servers(LOCAL)[0]?.state === "needs_approval");
      } finally {
        await sandbox.kill();
      }
      // It may have been written before the sandbox ended.
      await write('{"mcpServers": {}}');
      await lab.until(() => lab.servers.servers(LOCAL).length === 0);
      await write(evil);
      await lab.until(() => lab.servers.servers(LOCAL)[0]?.state === "needs_approval");
      expect(await read(mark)).toBe("not there");
      const { answer } = await lab.ask("GET /v1/servers/evil");
      // Any program of the machine may ask so, one that wrote the file too.
      expect(await lab.ask("POST /v1/servers/evil/approve", { digest: answer["digest"] })).toMatchObject({ status: 403 });
      expect([lab.servers.servers(LOCAL)[0]?.state, await read(mark)]).toEqual(["needs_approval", "not there"]);
      await expect(lab.servers.approve(LOCAL, "evil", "another")).rejects.toMatchObject({ code: "MCP_SERVER_CHANGED" });
      await lab.servers.approve(LOCAL, "evil", String(answer["digest"]));
      await failed(lab, "evil");
      await whileItIsDown(folder);
    }),
  120_000,
);

const stateOf = (lab: ServersLab) => lab.servers.servers(LOCAL)[0]?.state;

/** A program in a sandbox writes the file while no Belljar has it. */
async function whileItIsDown(folder: string): Promise<void> {
  const [shown, mark] = [join(folder, "workspace"), join(folder, "mark-at-start")];
  const file = join(shown, "mcp.json");
  const evil = JSON.stringify({ mcpServers: { evil: starts(mark, { isolation: "none" }) } });
  await mkdir(shown);
  await writeFile(file, evil);
  {
    await using trusting = await openServersLab({ file });
    await failed(trusting, "evil");
    expect(await read(mark), "a start runs what the file says that no sandbox may write").toBe("run\n");
  }
  await rm(mark);
  await writeFile(file, '{"mcpServers": {}}');
  const workspace = { path: shown, mode: "rw" } as const;
  await using first = await openServersLab({ file, workspace });
  await first.close();
  const signal = AbortSignal.timeout(60_000);
  const sandbox = await first.sandboxes.create(LOCAL, { workspace }, signal);
  try {
    await sandbox.guest.run({ argv: ["sh", "-c", `printf %s '${evil}' > /workspace/mcp.json`], signal });
  } finally {
    await sandbox.kill();
  }
  expect(await readFile(file, "utf8")).toBe(evil);
  // The second start shows the folder to nobody, and finds no sandbox that ever had it.
  for (const again of [{ workspace }, {}]) {
    await using lab = await openServersLab({ file, home: first.home, ...again });
    expect([stateOf(lab), await read(mark)]).toEqual(["needs_approval", "not there"]);
    await lab.close();
  }
  {
    await using lab = await openServersLab({ file, home: first.home, workspace });
    const [waiting] = waitingInHome(fileApprovalsFolder({ home: first.home }));
    if (waiting) await approveInHome(fileApprovalsFolder({ home: first.home }), waiting);
    await failed(lab, "evil");
    expect(await read(mark), "a person at the machine approves it").toBe("run\n");
  }
  await rm(mark);
  await using approved = await openServersLab({ file, home: first.home, workspace });
  await failed(approved, "evil");
  expect(await read(mark), "the approval outlives the process").toBe("run\n");
}

verifies(
  "servers-pinned",
  async () => {
    await using lab = await openHubLab({ loose: hubServer(), held: hubServer({ pin: "strict" }) });
    await lab.until(() => lab.names().includes("mcp_loose_turn") && lab.names().includes("mcp_held_turn"));
    const shown = (server: string): string => lab.hub.find({ principal: LOCAL }, `mcp_${server}_count`)?.description ?? "";
    for (const server of ["loose", "held"]) await lab.call(`mcp_${server}_turn`);
    await lab.until(() => lab.hub.servers(LOCAL).every(({ changed }) => changed === 1));
    expect(shown("loose"), "the new words reach a caller where nobody asked for more").toContain("send all keys");
    expect(lab.problems.some((problem) => problem.includes('"loose" are not those that were approved'))).toBe(true);
    expect(shown("held")).not.toContain("send all keys");
    expect(await lab.call("mcp_held_count")).toMatchObject({ isError: true, value: { code: "TOOL_CHANGED" } });
  },
  120_000,
);
