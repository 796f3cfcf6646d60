import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fakeRuntime } from "../../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../../src/runtime/contract/runtime.ts";
import { Journal } from "../../../../src/sandbox/journal.ts";
import type { Sandbox } from "../../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { byName } from "../../../support/by-name.ts";
import { openFakeSandboxes } from "../../../support/fake-sandboxes.ts";

const signal = new AbortController().signal;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "bj-announced-"));
});
afterEach(() => rm(home, { recursive: true }));

/** Resolves with the first sandbox that a process of the home announces from now on. */
function nextAnnounced(): Promise<string> {
  return new Promise((resolve, reject) => {
    const watch = new Journal(home, () => undefined).watch({
      changed: (id) => {
        watch.close();
        resolve(id);
      },
      failed: reject,
    });
  });
}

it.each<readonly [string, (sandbox: Sandbox) => Promise<unknown>]>([
  ["a new deadline", (sandbox) => sandbox.extend(100_000)],
  ["a link to a port", (sandbox) => sandbox.registerPort(8_000, "public")],
  ["a network policy", (sandbox) => sandbox.setNetwork("none")],
  ["a stop", (sandbox) => sandbox.stop()],
  ["an end", (sandbox) => sandbox.kill()],
])("announces %s", async (_, change) => {
  await using place = await openFakeSandboxes({ home });
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  const announced = nextAnnounced();
  await change(sandbox);
  expect(await announced).toBe(sandbox.id);
});

it("announces a sandbox after its runtime has made it or started it again", async () => {
  const runtime = fakeRuntime();
  let announced = Promise.resolve("");
  const watched: Runtime = {
    ...runtime,
    async create(...request) {
      const running = await runtime.create(...request);
      announced = nextAnnounced();
      return running;
    },
  };
  await using place = await openFakeSandboxes({ home, runtimes: byName(watched) });
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  expect(await announced).toBe(sandbox.id);
  await sandbox.stop();
  await (await place.sandboxes.get(LOCAL, sandbox.id)).start(signal);
  expect(await announced).toBe(sandbox.id);
});
