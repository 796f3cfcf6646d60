import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LIVE_STATES, LOCAL } from "../../src/sandbox/sandbox.ts";
import { byName } from "./by-name.ts";
import { listed } from "./listed.ts";

/** The real domain on the fake runtime, in a home of its own. Disposing it kills what lives and removes the home. */
export async function openFakeSandboxes(
  more: Partial<LocalSandboxesOptions> = {},
): Promise<{ readonly sandboxes: LocalSandboxes } & AsyncDisposable> {
  const home = await mkdtemp(join(tmpdir(), "belljar-fake-"));
  const config = { sandbox: { timeoutMs: 600_000 }, listMax: 1_000, tombstoneRetentionMs: 600_000 };
  const sandboxes = createLocalSandboxes({ home, runtimes: byName(fakeRuntime()), config, ...more });
  return {
    sandboxes,
    async [Symbol.asyncDispose]() {
      for (const { id } of await listed(sandboxes, LOCAL, { state: LIVE_STATES })) await (await sandboxes.get(LOCAL, id)).kill();
      await sandboxes[Symbol.asyncDispose]();
      await rm(home, { recursive: true });
    },
  };
}
