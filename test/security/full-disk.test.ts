import { execFile } from "node:child_process";
import { appendFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { isRoot } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const run = promisify(execFile);
const FIXTURE = join(import.meta.dirname, "../fixtures/full-disk-audit.mjs");

/** The disk is a file system of the test's own, which an ordinary user may mount in namespaces of its own. */
verifies("full-disk-audited", async () => {
  const disk = await mkdtemp(join(tmpdir(), "belljar-disk-"));
  try {
    const { stdout } = await run("unshare", ["--user", "--map-root-user", "--mount", process.execPath, FIXTURE, disk]);
    const { naiveBytes, reserveBytes, ...told } = JSON.parse(stdout) as Record<string, unknown>;
    expect(naiveBytes, "a full disk takes a part of what is appended").toBeGreaterThan(0);
    expect(reserveBytes).toBeLessThan(1_048_576);
    expect(told).toEqual({
      naiveCode: "ENOSPC",
      refused: "DISK_FULL",
      stillRefused: "DISK_FULL",
      whileFull: { before: 1, during: 200, kill: 20 },
      after: "ok",
      all: { before: 1, during: 200, kill: 20, "waits.example": 1 },
      isIntact: true,
      torn: 0,
    });
  } finally {
    await rm(disk, { recursive: true });
  }
});

async function fill(path: string): Promise<void> {
  for (const size of [1 << 20, 4096, 1]) {
    const isFull = async (): Promise<boolean> =>
      appendFile(path, Buffer.alloc(size)).then(
        () => false,
        () => true,
      );
    while (!(await isFull()));
  }
}

/** A server on a small disk of its own. */
async function onSmallDisk(cli: CliHome, work: (disk: string, env: { readonly BELLJAR_HOME: string }) => Promise<void>): Promise<void> {
  const disk = join(cli.folder, "disk");
  await mkdir(disk);
  await run("mount", ["-t", "tmpfs", "-o", "size=256m", "none", disk]);
  const env = { BELLJAR_HOME: join(disk, "home") };
  try {
    await work(disk, env);
  } finally {
    await rm(join(disk, "filler"), { force: true });
    const { stdout } = await cli.run(["sandbox", "list", "--json"], { env });
    for (const { id } of JSON.parse(stdout) as { id: string }[]) await cli.run(["sandbox", "kill", id], { env });
    await run("umount", [disk]);
  }
}

interface Answer {
  readonly isError?: boolean;
  readonly content?: readonly { readonly text: string }[];
  readonly error?: { readonly code: string };
  readonly id?: string;
}

async function ask(url: string, route: string, body?: unknown): Promise<Answer & { readonly status: number }> {
  const [method = "", path = ""] = route.split(" ");
  const sent = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(new URL(path, url), { method, ...sent });
  const text = await response.text();
  return { status: response.status, ...(text.startsWith("{") ? (JSON.parse(text) as Answer) : {}) };
}

/** `ok`, or the beginning of what the tool said. */
async function call(url: string, name: string, args: unknown): Promise<string> {
  const { isError, content } = await ask(url, "POST /tools/call", { name, arguments: args });
  return isError ? (content?.[0]?.text ?? "") : "ok";
}

/** The states of all sandboxes that a server lists. */
async function statesOf(url: string): Promise<ReadonlyMap<string, string>> {
  const response = await fetch(new URL("/v1/sandboxes", url));
  const { sandboxes } = (await response.json()) as { readonly sandboxes: readonly { readonly id: string; readonly state: string }[] };
  return new Map(sandboxes.map(({ id, state }) => [id, state]));
}

verifies("full-disk-ends", async ({ skip }) => {
  skip(!isRoot, "only root can mount a disk that every process of the test sees");
  await using cli = await openCliHome();
  await onSmallDisk(cli, async (disk, env) => {
    const filler = join(disk, "filler");
    const server = cli.start(["serve", "--port", "0", "--toolsets", "all"], { env });
    const url = (await server.says(/serves MCP at (\S+)\/mcp/))[1] ?? "";
    const asked = (id: string, word: string): Promise<Answer> => ask(url, `POST /v1/sandboxes/${id}/${word}`, {});
    try {
      const made = await Promise.all([1, 2, 3, 4].map(() => ask(url, "POST /v1/sandboxes", {})));
      const ids = made.map(({ id }) => id ?? "");
      const [first = "", second = "", third = "", fourth = ""] = ids;
      for (const id of [first, second, third]) expect(await call(url, "sandbox_exec", { id, cmd: "echo kept > file" })).toBe("ok");
      for (const id of [first, second]) expect(await asked(id, "stop")).toMatchObject({ status: 204 });
      await fill(filler);
      for (const id of [third, fourth]) expect(await asked(id, "stop")).toMatchObject({ status: 204 });
      await fill(filler);
      expect(await statesOf(url)).toEqual(new Map(ids.map((id) => [id, "stopped"])));
      for (const id of ids) expect(await ask(url, `GET /v1/sandboxes/${id}`)).toMatchObject({ status: 200, state: "stopped" });
      expect(await asked(first, "start")).toMatchObject({ status: 507, error: { code: "DISK_FULL" } });
      for (const id of [first, fourth]) {
        await fill(filler);
        expect(await ask(url, `DELETE /v1/sandboxes/${id}`)).toMatchObject({ status: 204 });
        expect([undefined, "ended"]).toContain((await statesOf(url)).get(id));
      }
      await fill(filler);
      expect(await cli.run(["sandbox", "kill", second], { env })).toMatchObject({ code: 0, stdout: `${second}\n` });
      await rm(filler);
      await expect.poll(() => asked(third, "start"), { timeout: 30_000 }).toMatchObject({ status: 200, state: "running" });
      expect(await ask(url, "POST /tools/call", { name: "sandbox_exec", arguments: { id: third, cmd: "cat file" } })).toMatchObject({
        content: expect.arrayContaining([expect.objectContaining({ text: expect.stringContaining("kept") })]),
      });
      expect([...(await statesOf(url))].filter(([, state]) => state !== "ended")).toEqual([[third, "running"]]);
    } finally {
      server.signal("SIGTERM");
      await server.exit;
    }
  });
});

verifies("full-disk-ends", async ({ skip }) => {
  skip(!isRoot, "only root can mount a disk that every process of the test sees");
  await using cli = await openCliHome();
  await onSmallDisk(cli, async (disk, env) => {
    const filler = join(disk, "filler");
    const server = cli.start(["serve", "--port", "0", "--toolsets", "all"], { env });
    const url = (await server.says(/serves MCP at (\S+)\/mcp/))[1] ?? "";
    try {
      const made = await Promise.all([1, 2, 3, 4].map(() => ask(url, "POST /v1/sandboxes", {})));
      const [one = "", two = "", three = "", four = ""] = made.map(({ id }) => id ?? "");
      const echo = (): Promise<string> => call(url, "sandbox_exec", { id: one, cmd: "echo fine" });
      expect(await echo()).toBe("ok");
      await fill(filler);
      await expect(appendFile(join(env.BELLJAR_HOME, "probe"), "x"), "the disk is full").rejects.toMatchObject({ code: "ENOSPC" });
      await expect.poll(echo, { timeout: 30_000 }).toMatch(/disk|space/i);
      expect(await ask(url, "POST /v1/sandboxes", {})).toMatchObject({ status: 507, error: { code: "DISK_FULL" } });
      expect(await call(url, "sandbox_list", {})).toBe("ok");
      expect(await call(url, "process_list", { sandbox: one })).toBe("ok");
      // What the audit gave back to the disk goes too, so that no end can be written down.
      await fill(filler);
      expect(await call(url, "sandbox_kill", { id: two })).toBe("ok");
      expect(await ask(url, `DELETE /v1/sandboxes/${three}`)).toMatchObject({ status: 204 });
      expect(await cli.run(["sandbox", "list", "--json"], { env })).toMatchObject({ code: 0, stdout: expect.stringContaining(four) });
      await fill(filler);
      expect(await cli.run(["sandbox", "kill", four], { env })).toMatchObject({ code: 0, stdout: `${four}\n` });
      const { code, stdout } = await cli.run(["sandbox", "list", "--all", "--json"], { env });
      const states = new Map((JSON.parse(stdout) as { id: string; state: string }[]).map(({ id, state }) => [id, state]));
      expect([code, states.get(one)]).toEqual([0, "running"]);
      // One whose end no disk took is listed again once it is too old to be in the making.
      for (const id of [two, three, four]) expect([undefined, "ended"]).toContain(states.get(id));
      await rm(filler);
      await expect.poll(echo, { timeout: 30_000 }).toBe("ok");
      expect(await call(url, "sandbox_kill", { id: one })).toBe("ok");
    } finally {
      server.signal("SIGTERM");
      await server.exit;
    }
    expect(await cli.run(["audit", "verify"], { env })).toMatchObject({ code: 0 });
    const { stdout } = await cli.run(["audit", "tail", "-n", "100"], { env });
    expect(stdout.match(/sandbox_kill in \w+: ok/g)).toHaveLength(2);
    expect(stdout).toContain("DELETE /v1/sandboxes/:id");
  });
});
