import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { RunningSandbox, Usage } from "../../../src/runtime/contract/run.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { createSandboxId } from "../../../src/sandbox/sandbox-id.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxesOptions } from "../../../src/sandbox/local-sandboxes-options.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";
import { createRecordedEgress } from "../../support/recorded-egress.ts";

const config = { sandbox: { timeoutMs: 3_600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-several-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true, force: true });
});

/** One process of Belljar on the home. */
function openHome({ runtime = fakeRuntime({ host }), ...more }: Partial<LocalSandboxesOptions> & { readonly runtime?: Runtime } = {}) {
  return createLocalSandboxes({ home, runtimes: byName(runtime), config, ...more });
}

it("follows the first change of a network that another process makes", async () => {
  const egress = createRecordedEgress();
  await using one = openHome({ egress });
  await using other = openHome({ egress: createRecordedEgress() });
  const { id } = await one.create(LOCAL, { network: { allow: ["npm"] } }, signal);
  await egress.told((event) => event.kind === "serve" && event.id === id);
  await (await other.get(LOCAL, id)).setNetwork({ allow: ["pypi"] });
  const told = await egress.told((event) => JSON.stringify(event.state.policy) === '{"allow":["pypi"]}');
  expect(told).toMatchObject({ id, owner: "local" });
});

it("keeps networks where nobody else may look", async () => {
  await using one = openHome({ egress: createRecordedEgress() });
  await one.create(LOCAL, { network: { allow: ["npm"] } }, signal);
  expect(statSync(join(home, "network")).mode & 0o777).toBe(0o700);
});

it("serves no network any more once it is disposed", async () => {
  const egress = createRecordedEgress();
  const sandboxes = openHome({ egress });
  const { id } = await sandboxes.create(LOCAL, { network: { allow: ["npm"] } }, signal);
  await egress.told((event) => event.kind === "serve");
  await sandboxes[Symbol.asyncDispose]();
  expect(egress.serves(id)).toBeUndefined();
});

it("knows the links of a stopped sandbox, and finds none by an unknown id", async () => {
  await using sandboxes = openHome({ egress: createRecordedEgress() });
  const sandbox = await sandboxes.create(LOCAL, {}, signal);
  await sandbox.registerPort(8_000, "public");
  await sandbox.stop();
  expect(await (await sandboxes.get(LOCAL, sandbox.id)).portLinks()).toMatchObject([{ port: 8_000, access: "public" }]);
  for (const id of ["nothing", createSandboxId()]) await expect(sandboxes.getLinked(id)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
});

it("fills a page of a filtered list, however many others lie between", async () => {
  await using sandboxes = openHome();
  const made = [];
  for (let count = 0; count < 6; count += 1) made.push(await sandboxes.create(LOCAL, {}, signal));
  for (const at of [0, 1, 2, 4, 5]) await made[at]?.stop();
  const { sandboxes: page } = await sandboxes.list(LOCAL, { limit: 3, filter: { state: ["stopped"] } });
  expect(page).toHaveLength(3);
});

it("says of a sandbox that could not be started when it stopped, and counts no run for a cancelled start", async () => {
  await using one = openHome();
  const sandbox = await one.create(LOCAL, {}, signal);
  await sandbox.stop();
  const before = await one.info(LOCAL, sandbox.id);
  const broken: Runtime = { ...fakeRuntime({ host }), create: () => Promise.reject(new BelljarError("RUNTIME_FAILED", "not today")) };
  await using other = openHome({ runtime: broken });
  await expect((await other.get(LOCAL, sandbox.id)).start(signal)).rejects.toThrow("not today");
  expect(await one.info(LOCAL, sandbox.id)).toEqual(before);
  await (await one.get(LOCAL, sandbox.id)).start(signal);
  const generation = host.get(sandbox.id)?.generation ?? 0;
  await (await one.get(LOCAL, sandbox.id)).stop();
  await expect((await one.get(LOCAL, sandbox.id)).start(AbortSignal.abort())).rejects.toThrow(withCode("CANCELLED"));
  await (await one.get(LOCAL, sandbox.id)).start(signal);
  expect(host.get(sandbox.id)?.generation).toBe(generation + 1);
});

/** A runtime whose sandboxes ran out of memory as often as `kills` says. */
function hungry(kills: readonly number[]): Runtime {
  const runtime = fakeRuntime({ host });
  const waiting = [...kills];
  const wrap = (running: RunningSandbox): RunningSandbox => ({
    ...running,
    usage: async (): Promise<Usage> => ({ ...(await running.usage()), oomKills: waiting.shift() ?? 0 }),
  });
  return { ...runtime, create: async (spec, abort) => wrap(await runtime.create(spec, abort)) };
}

it.each([
  ["the local user", LOCAL],
  ["a token with grants", { ...LOCAL, grants: {} }],
])("remembers for %s how often memory ran out, as it was last seen", async (_who, principal) => {
  await using sandboxes = openHome({ runtime: hungry([3, 1]) });
  const sandbox = await sandboxes.create(principal, {}, signal);
  expect(await sandbox.knownOomKills()).toBe(0);
  for (let round = 0; round < 2; round += 1) {
    await sandbox.usage();
    expect(await sandbox.knownOomKills()).toBe(3);
  }
});

it("finds a default sandbox again by the same workspace, and by no other mode of it", async () => {
  const path = mkdtempSync(join(tmpdir(), "belljar-folder-"));
  await using sandboxes = openHome();
  const { sandbox } = await sandboxes.default(LOCAL, "work", { workspace: { path, mode: "copy" } }, signal);
  const again = await sandboxes.default(LOCAL, "work", { workspace: { path, mode: "copy" } }, signal);
  expect([again.created, again.sandbox.id]).toEqual([false, sandbox.id]);
  expect((await sandboxes.default(LOCAL, "work", {}, signal)).sandbox.id).toBe(sandbox.id);
  const other = sandboxes.default(LOCAL, "work", { workspace: { path, mode: "ro" } }, signal);
  await expect(other).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
  rmSync(path, { recursive: true });
});
