import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const signal = new AbortController().signal;

async function openHome() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bj-two-")));
  const home = join(root, "home");
  const namespace = await openRuntime("namespace", { home, runtimeDirectory: join(root, "run"), storage: "tmpfs", binary });
  const host = new Map();
  const open = () =>
    createLocalSandboxes({
      home,
      runtimes: byName(namespace, fakeRuntime({ host })),
      config: { sandbox: { timeoutMs: 60_000 }, listMax: 100, tombstoneRetentionMs: 60_000, runtime: "namespace", runtimes: ["fake"] },
    });
  return { open, [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true }) };
}

/** Its first process: the guest inside a namespace sandbox, the host's otherwise. */
async function firstProcess({ guest }: Sandbox): Promise<string> {
  const { stdout } = await guest.run({ argv: ["cat", "/proc/1/comm"], signal });
  return stdout.toString().trim();
}

it("makes, finds and ends sandboxes of two runtimes in one process", async () => {
  await using home = await openHome();
  await using maker = home.open();
  const jailed = await maker.create(LOCAL, {}, signal);
  const plain = await maker.create(LOCAL, { runtime: "fake" }, signal);
  expect(await firstProcess(jailed)).not.toBe(await firstProcess(plain));
  await using finder = home.open();
  expect(Object.fromEntries((await listed(finder, LOCAL)).map(({ id, runtime, state }) => [id, `${runtime} ${state}`]))).toEqual({
    [jailed.id]: "namespace running",
    [plain.id]: "fake running",
  });
  for (const { id } of [jailed, plain]) await (await finder.get(LOCAL, id)).kill();
  await finder.sweep();
  expect((await listed(finder, LOCAL)).map(({ endReason }) => endReason)).toEqual(["killed", "killed"]);
});
