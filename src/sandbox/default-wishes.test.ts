import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { byName } from "../../test/support/by-name.ts";
import { createRecordedEgress } from "../../test/support/recorded-egress.ts";
import { type FakeHost, fakeRuntime } from "../runtime/fake/fake-runtime.ts";
import type { CreateOptions, DefaultWishes, Principal } from "./sandbox.ts";
import { LOCAL } from "./sandbox.ts";
import { createLocalSandboxes } from "./local-sandboxes.ts";

const { signal } = new AbortController();
const MIB = 2 ** 20;
const NPM = { allow: ["npm"] };

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-wishes-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. */
function openHome() {
  const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
  return createLocalSandboxes({ home, runtimes: byName(fakeRuntime({ host })), config, egress: createRecordedEgress() });
}

/** Another process that takes up the default sandbox with its own wishes. */
async function openSecond(made: CreateOptions) {
  const maker = openHome();
  const { sandbox } = await maker.default(LOCAL, "main", { bestEffort: true, ...made }, signal);
  const second = openHome();
  return {
    sandbox,
    shortId: sandbox.id.slice(0, 8),
    take: async (wishes: DefaultWishes, principal: Principal = LOCAL) =>
      (await second.default(principal, "main", { wishes }, signal)).unmet,
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await maker[Symbol.asyncDispose]();
    },
  };
}

it("says which limits of the command line the sandbox does not have, and how to get them", async () => {
  await using second = await openSecond({ limits: { memoryBytes: 64 * MIB, cpus: 2, pids: 9 } });
  expect(await second.take({ limits: { memoryBytes: 32 * MIB, cpus: 2, diskBytes: 1.4 * MIB, pids: 7, openFiles: 5 } })).toEqual([
    "The default sandbox was made earlier, with memory of 64 MiB, not 32 MiB; disk space of no limit, not 1 MiB; processes: 9, not 7; " +
      "open files: no limit, not 5 as asked for now: that holds for the next one. To have it otherwise now, end it with " +
      `\`belljar sandbox kill ${second.shortId}\`, which loses its files.`,
  ]);
});

it("says nothing of limits that the sandbox has", async () => {
  await using second = await openSecond({ limits: { cpus: 2 } });
  expect(await second.take({ limits: { cpus: 2 } })).toEqual([]);
});

it("applies the network and the lifetime once: what a person changes after that stays", async () => {
  await using second = await openSecond({});
  expect(await second.take({ network: NPM, timeoutMs: 3_600_000, limits: { cpus: 2 } })).toHaveLength(1);
  const { network, deadline } = await second.sandbox.info();
  expect(network).toEqual(NPM);
  expect((deadline?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_000_000);
  await second.sandbox.setNetwork("none");
  expect(await second.take({ network: NPM, limits: { cpus: 2 } })).toHaveLength(1);
  expect(await second.sandbox.info()).toMatchObject({ network: "none" });
});

it("holds a sandbox that this process made to nothing: it was made so", async () => {
  await using only = openHome();
  const get = (wishes: DefaultWishes) => only.default(LOCAL, "main", { wishes }, signal);
  expect(await get({})).toMatchObject({ created: true, unmet: [] });
  const { sandbox, created, unmet } = await get({ network: NPM, limits: { cpus: 2 } });
  expect([created, unmet, (await sandbox.info()).network]).toEqual([false, [], "none"]);
});

it("changes nothing for a token of the owner: another one may use the sandbox", async () => {
  await using second = await openSecond({});
  expect(await second.take({ network: NPM, limits: { cpus: 2 } }, { ...LOCAL, grants: {} })).toEqual([]);
  expect(await second.sandbox.info()).toMatchObject({ network: "none" });
});
