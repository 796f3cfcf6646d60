import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createCallProbe } from "../../support/call-probe.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { RunningSandbox } from "../../../src/runtime/contract/run.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { openLease } from "../../../src/remote/lease.ts";
import { createRemoteSandboxes, fetchIsolation } from "../../../src/remote/remote-sandboxes.ts";
import { openGuestStream } from "../../../src/remote/server-connection.ts";
import { byName } from "../../support/by-name.ts";
import { listed } from "../../support/listed.ts";
import { openTeamLab } from "../../support/team-lab.ts";

const NEVER = new AbortController().signal;

/** A server on a home of its own, with the fake runtime. */
async function openServer(beforeCreate: (signal: AbortSignal) => Promise<AbortSignal> = async (signal) => signal) {
  const home = await mkdtemp(join(tmpdir(), "bj-"));
  const made: RunningSandbox[] = [];
  let tellFirst: (sandbox: RunningSandbox) => void;
  const firstMade = new Promise<RunningSandbox>((resolve) => (tellFirst = resolve));
  const fake = fakeRuntime();
  const runtime: Runtime = {
    ...fake,
    async create(spec, signal) {
      const sandbox = await fake.create(spec, await beforeCreate(signal));
      made.push(sandbox);
      tellFirst(sandbox);
      return sandbox;
    },
  };
  const config = loadConfig({ env: {}, flags: { home, port: 0, runtime: "fake" } });
  const local = createLocalSandboxes({ home, runtimes: byName(runtime), config });
  const gateway = createGateway({
    config,
    sandboxes: local,
    tools: createCallProbe().tools,
    isolation: () => runtime.probe(),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const address = { url: (await gateway.listen()).href };
  return {
    address,
    firstMade,
    gateway,
    local,
    made,
    remote: createRemoteSandboxes(address),
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      for (const sandbox of made) await sandbox.kill("killed");
      await local[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}

it("shows a sandbox as the server's own home does", async () => {
  await using server = await openServer();
  const { id } = await server.remote.create(LOCAL, { metadata: { team: "a" }, timeoutMs: 60_000 }, NEVER);
  expect(await server.remote.info(LOCAL, id)).toEqual(await server.local.info(LOCAL, id));
  expect((await server.remote.info(LOCAL, id.slice(0, 8))).id).toBe(id);
});

it("says of a token that is no more why its command has ended", async () => {
  await using team = await openTeamLab();
  const { id, token } = await team.tokens.create("alice", []);
  const sandbox = await createRemoteSandboxes({ url: team.url, token }).create(LOCAL, {}, NEVER);
  await using command = await sandbox.guest.exec({ argv: ["sleep", "600"], signal: NEVER });
  await team.tokens.revoke(id);
  await expect(command.exited).rejects.toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("revoked") });
});

it("lists page by page, and refuses what is no cursor", async () => {
  await using server = await openServer();
  const made = [await server.remote.create(LOCAL, {}, NEVER), await server.remote.create(LOCAL, {}, NEVER)];
  const first = await server.remote.list(LOCAL, { limit: 1 });
  const second = await server.remote.list(LOCAL, { limit: 1, cursor: first.nextCursor });
  expect([...first.sandboxes, ...second.sandboxes].map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  expect(second.nextCursor).toBeUndefined();
  await expect(server.remote.list(LOCAL, { cursor: "x" })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  for (const query of ["limit=0", "limit=x", "limit=1&limit=2", "cursor=a&cursor=b", `cursor=${"9".repeat(300)}`, "page=2"])
    expect((await fetch(new URL(`/v1/sandboxes?${query}`, server.address.url))).status, query).toBe(400);
});

it("lists by state and metadata", async () => {
  await using server = await openServer();
  const a = await server.remote.create(LOCAL, { metadata: { team: "a" } }, NEVER);
  const b = await server.remote.create(LOCAL, { metadata: { team: "b" } }, NEVER);
  await b.kill();
  expect((await listed(server.remote, LOCAL, { metadata: { team: "a" } })).map(({ id }) => id)).toEqual([a.id]);
  expect((await listed(server.remote, LOCAL, { state: ["ended"] })).map(({ id }) => id)).toEqual([b.id]);
  expect(await listed(server.remote, LOCAL)).toHaveLength(2);
});

it("runs commands with their input, output and exit code", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, { env: { WHO: "world" } }, NEVER);
  const result = await sandbox.guest.run({ argv: ["sh", "-c", 'cat; echo "hello $WHO" >&2; exit 3'], input: "given\n", signal: NEVER });
  expect({ ...result, stdout: String(result.stdout), stderr: String(result.stderr) }).toMatchObject({
    exitCode: 3,
    stdout: "given\n",
    stderr: "hello world\n",
  });
});

it("streams an output that is larger than every buffer", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, {}, NEVER);
  await using command = await sandbox.guest.exec({ argv: ["head", "-c", "20000000", "/dev/zero"], stdin: false, signal: NEVER });
  const [output] = await Promise.all([text(command.stdout), text(command.stderr)]);
  expect(output).toHaveLength(20_000_000);
  expect((await command.exited).exitCode).toBe(0);
});

it("writes and reads files", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, {}, NEVER);
  await sandbox.guest.files.write("note.txt", "grüezi", { signal: NEVER });
  expect(String(await sandbox.guest.files.read("note.txt", { signal: NEVER }))).toBe("grüezi");
  await expect(sandbox.guest.files.read("none.txt", { signal: NEVER })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
});

it("stops a sandbox and starts it again, with its files", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, {}, NEVER);
  await sandbox.guest.files.write("note.txt", "kept", { signal: NEVER });
  await sandbox.stop();
  expect(await server.remote.info(LOCAL, sandbox.id)).toMatchObject({ state: "stopped", endReason: "stopped" });
  await expect(sandbox.guest.run({ argv: ["true"], signal: NEVER })).rejects.toMatchObject({ code: "SANDBOX_STOPPED" });
  const again = await (await server.remote.get(LOCAL, sandbox.id)).start(NEVER);
  expect(again.id).toBe(sandbox.id);
  expect(String(await again.guest.files.read("note.txt", { signal: NEVER }))).toBe("kept");
  await again.extend(60_000, "stop");
  expect(await again.usage()).toMatchObject({ deadlineAction: "stop" });
  await again.stop();
  await (await server.remote.get(LOCAL, sandbox.id)).kill();
  expect(await server.remote.info(LOCAL, sandbox.id)).toMatchObject({ state: "ended", endReason: "killed" });
});

it("starts a stopped sandbox for who needs it to run, and says how it was stopped", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, { onDeadline: "stop" }, NEVER);
  expect(await sandbox.info()).toMatchObject({ onDeadline: "stop" });
  expect(await server.remote.getStarted(LOCAL, sandbox.id, NEVER)).not.toHaveProperty("stopped");
  await sandbox.guest.files.write("note.txt", "kept", { signal: NEVER });
  await sandbox.stop();
  const { sandbox: again, stopped } = await server.remote.getStarted(LOCAL, sandbox.id, NEVER);
  expect(stopped).toMatchObject({ reason: "stopped", at: expect.any(Date) });
  expect(String(await again.guest.files.read("note.txt", { signal: NEVER }))).toBe("kept");
});

it("moves the deadline and tells the usage", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, { timeoutMs: 60_000 }, NEVER);
  const before = (await sandbox.usage()).deadline?.getTime() ?? 0;
  await sandbox.extend(3_600_000);
  expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(before + 3_000_000);
});

it("finds the default sandbox of a name again", async () => {
  await using server = await openServer();
  const first = await server.remote.default(LOCAL, "project", {}, NEVER);
  const second = await server.remote.default(LOCAL, "project", {}, NEVER);
  expect([first.created, second.created]).toEqual([true, false]);
  expect(second.sandbox.id).toBe(first.sandbox.id);
  await first.sandbox.stop();
  expect(await server.remote.default(LOCAL, "project", {}, NEVER)).toMatchObject({ created: false, started: true });
});

it("keeps the codes of the server's errors", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, {}, NEVER);
  await sandbox.kill();
  await expect(server.remote.get(LOCAL, sandbox.id)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
  await expect(sandbox.guest.ping(NEVER)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
  await expect(server.remote.get(LOCAL, "zzzzzzzzzzzzzzzzzzzz")).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
  await expect(server.remote.create(LOCAL, { limits: { pids: 64 } }, NEVER)).rejects.toMatchObject({ code: "LIMIT_UNENFORCEABLE" });
  await expect(server.remote.create(LOCAL, { template: "none" }, NEVER)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
});

it("says why a command was cut short", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, {}, NEVER);
  await using command = await sandbox.guest.exec({ argv: ["sleep", "1000"], stdin: false, signal: NEVER });
  command.stdout.resume();
  command.stderr.resume();
  await Promise.all([expect(command.exited).rejects.toMatchObject({ code: "SANDBOX_ENDED" }), sandbox.kill()]);
});

it("ends a sandbox that is ephemeral when its client goes", async () => {
  await using server = await openServer();
  const lease = await openLease(server.address, { method: "POST", path: "/v1/sandboxes", body: { ephemeral: true } });
  const [sandbox] = server.made;
  expect((await server.remote.info(LOCAL, sandbox?.id ?? "")).state).toBe("running");
  lease.close();
  expect(await sandbox?.ended).toMatchObject({ reason: "killed" });
});

it("leaves no sandbox of a client that went while it was made", async () => {
  const cancel = new AbortController();
  await using server = await openServer(async (signal) => {
    cancel.abort();
    await once(signal, "abort");
    return NEVER;
  });
  await expect(server.remote.create(LOCAL, { ephemeral: true }, cancel.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await (await server.firstMade).ended).toMatchObject({ reason: "killed" });
});

it("uses and kills a sandbox that is ephemeral", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, { ephemeral: true }, NEVER);
  expect(String((await sandbox.guest.run({ argv: ["echo", "hi"], signal: NEVER })).stdout)).toBe("hi\n");
  await sandbox.kill();
  expect((await server.remote.info(LOCAL, sandbox.id)).state).toBe("ended");
});

it("lets a sandbox be killed that has ended, as a local one", async () => {
  await using server = await openServer();
  for (const sandboxes of [server.local, server.remote]) {
    const sandbox = await sandboxes.create(LOCAL, { ephemeral: true }, NEVER);
    await server.made.at(-1)?.kill("deadline");
    await sandbox.kill();
    expect(await sandboxes.info(LOCAL, sandbox.id)).toMatchObject({ state: "ended", endReason: "deadline" });
  }
});

it("tells what the server's host enforces", async () => {
  await using server = await openServer();
  expect(await fetchIsolation(server.address)).toMatchObject({ runtime: "fake", available: true });
});

it("creates nothing for a call that was cancelled", async () => {
  await using server = await openServer();
  await expect(server.remote.create(LOCAL, {}, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
  expect(server.made).toEqual([]);
});

it("waits for a server that says nothing no longer than its deadline", async () => {
  const open = new Set<Socket>();
  const server = createServer((socket) => void open.add(socket.on("error", () => socket.destroy()).resume())).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const address = { url: `http://127.0.0.1:${port}`, answerMs: 200 };
  const remote = createRemoteSandboxes(address);
  const calls = [
    listed(remote, LOCAL),
    remote.create(LOCAL, {}, NEVER),
    remote.create(LOCAL, { ephemeral: true }, NEVER),
    openGuestStream(address, "x", NEVER),
  ];
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" })));
  for (const socket of open) socket.destroy();
  server.close();
});
