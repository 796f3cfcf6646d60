import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { outside } from "../security/support/outside.ts";
import { byName } from "../support/by-name.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const BINARY = resolve(import.meta.dirname, "../../native/build/belljar-native");
const LARGER_THAN_MEMORY = { memoryBytes: 2 ** 27, diskBytes: 2 ** 28 };
const signal = AbortSignal.timeout(50_000);

it.skipIf(!isRoot)("a home on btrfs gets a pool of its own, whose limits hold (skipped without root, who alone mounts)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "belljar-btrfs-"));
  const disk = join(folder, "disk");
  const home = join(disk, "home");
  await writeFile(join(folder, "image"), "");
  await truncate(join(folder, "image"), 3 * 2 ** 30);
  await run("/usr/sbin/mkfs.btrfs", ["--quiet", join(folder, "image")]);
  await mkdir(disk);
  await run("mount", ["-o", "loop", join(folder, "image"), disk]);
  try {
    await mkdir(home, { mode: 0o700 });
    const runtime = await openRuntime("namespace", { home, runtimeDirectory: join(folder, "run"), storage: "auto", binary: BINARY });
    await using _pool = runtime.storagePool;
    const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 60_000 };
    await using sandboxes = createLocalSandboxes({ home, runtimes: byName(runtime), config });
    const sandbox = await sandboxes.create(LOCAL, { limits: LARGER_THAN_MEMORY }, signal);
    const fill = await sandbox.guest.run({ argv: ["dd", "if=/dev/zero", "of=/home/user/big", "bs=1M", "count=300"], signal });
    expect(fill).toMatchObject({ exitCode: 1 });
    expect(fill.stderr.toString()).toMatch(/quota exceeded|No space left/i);
    await sandbox.kill();
  } finally {
    // The pool goes first, by itself.
    await vi.waitUntil(async () => (await outside(["umount", disk])).code === 0, { timeout: 30_000, interval: 20 });
    await rm(folder, { recursive: true });
  }
});
