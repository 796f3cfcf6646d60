import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalSandboxes } from "../../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openNamespaceRuntime } from "../../../src/runtime/namespace/namespace-runtime.ts";
import { outside } from "../../security/support/outside.ts";
import { byName } from "../../support/by-name.ts";
import { holderOf, keeperOf, untilEnded } from "../../support/home-traces.ts";
import { BINARY, type StorageName } from "../../support/namespace-home.ts";

const isRoot = process.getuid?.() === 0;
/** What a reboot loses. */
const STORAGES: readonly (readonly [StorageName, "kept" | "lost"])[] = [
  ["home", "kept"],
  ["tmpfs", "lost"],
  ...(isRoot ? [["btrfs", "kept"] as const] : []),
];
const SMALL = { memoryBytes: 2 ** 28, diskBytes: 2 ** 27, pids: 64 };
const config = { sandbox: { timeoutMs: 600_000, ...SMALL, keep: 86_400_000 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const soon = (): AbortSignal => AbortSignal.timeout(60_000);

/** A home for real sandboxes of this user, as several processes of Belljar open it, one after the other. */
function makeHome(storage: StorageName) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  const [home, sockets] = [join(root, "home"), join(root, "run")];
  const unmount = async (): Promise<void> => {
    if (isRoot) await outside(["umount", "--lazy", join(home, "pool")]);
  };
  const open = async (): Promise<LocalSandboxes> => {
    const runtime = await openNamespaceRuntime({ home, runtimeDirectory: sockets, storage, binary: BINARY });
    return createLocalSandboxes({ home, runtimes: byName(runtime), config });
  };
  return {
    open,
    folder: (id: string) => join(home, "sandboxes", id),
    holder: () => holderOf(sockets),
    /** Whatever lives and lies in memory goes without a word, the maker of the sandbox too. */
    async reboot(id: string, ...pids: readonly number[]) {
      const record = join(home, "sandboxes", id, "sandbox.json");
      const text = JSON.parse(readFileSync(record, "utf8")) as object;
      writeFileSync(record, JSON.stringify({ ...text, creator: { pid: 2 ** 22, startedMs: 1 } }));
      for (const pid of pids) process.kill(pid, "SIGKILL");
      for (const pid of pids) await untilEnded(pid);
      rmSync(sockets, { recursive: true });
      await unmount();
    },
    async [Symbol.asyncDispose]() {
      await using sandboxes = await open();
      for (const { id } of (await sandboxes.list(LOCAL)).sandboxes) await (await sandboxes.get(LOCAL, id).catch(() => undefined))?.kill();
      await sandboxes[Symbol.asyncDispose]();
      await unmount();
      rmSync(root, { recursive: true });
    },
  };
}

async function inside(sandbox: Sandbox, script: string): Promise<string> {
  return (await sandbox.guest.run({ argv: ["sh", "-c", script], signal: soon() })).stdout.toString();
}

const WRITE = "echo kept > file; mkdir -m 700 closed; head -c 2000000 /dev/urandom > closed/large; sleep 600 >/dev/null & :";

describe.each(STORAGES)("a default sandbox with its files in %s", (storage, afterReboot) => {
  it("is stopped at its deadline, measured, and started again with its files and without its processes", async () => {
    await using home = makeHome(storage);
    await using one = await home.open();
    await one.sweep();
    const { sandbox } = await one.default(LOCAL, "work", {}, soon());
    await inside(sandbox, WRITE);
    await sandbox.extend(1);
    await sandbox.ended;
    expect(await one.info(LOCAL, sandbox.id)).toMatchObject({ state: "stopped", endReason: "deadline" });
    await one.sweep();
    const { keptBytes = 0 } = await one.info(LOCAL, sandbox.id);
    expect([keptBytes > 2_000_000, keptBytes < 4_000_000]).toEqual([true, true]);
    await using other = await home.open();
    const again = await other.default(LOCAL, "work", {}, soon());
    expect(again).toMatchObject({ created: false, started: true });
    expect(await inside(again.sandbox, "cat file; ps -e -o args= | grep -c '^sleep 600'")).toBe("kept\n0\n");
  });

  it(`runs, and is ${afterReboot} after a reboot`, async () => {
    await using home = makeHome(storage);
    const before = await home.open();
    const { sandbox } = await before.default(LOCAL, "work", {}, soon());
    await inside(sandbox, WRITE);
    await before[Symbol.asyncDispose]();
    await home.reboot(sandbox.id, keeperOf(home.folder(sandbox.id)), ...(storage === "tmpfs" ? [home.holder()] : []));
    await using after = await home.open();
    await after.sweep();
    const again = await after.default(LOCAL, "work", {}, soon());
    expect(again.created).toBe(afterReboot === "lost");
    expect(await inside(again.sandbox, "cat file")).toBe(afterReboot === "kept" ? "kept\n" : "");
    expect(again.earlier).toBe(afterReboot === "lost" ? sandbox.id : undefined);
    expect((await again.sandbox.lastStop?.())?.reason).toBe(afterReboot === "kept" ? "host_lost" : undefined);
  });

  it(`is stopped, and is ${afterReboot} after a reboot`, async () => {
    await using home = makeHome(storage);
    const before = await home.open();
    const { sandbox } = await before.default(LOCAL, "work", {}, soon());
    await inside(sandbox, WRITE);
    await sandbox.stop();
    await before[Symbol.asyncDispose]();
    await home.reboot(sandbox.id, ...(storage === "tmpfs" ? [home.holder()] : []));
    await using after = await home.open();
    await after.sweep();
    const again = await after.default(LOCAL, "work", {}, soon());
    expect(again).toMatchObject({ created: afterReboot === "lost" });
    expect(await inside(again.sandbox, "cat file")).toBe(afterReboot === "kept" ? "kept\n" : "");
    const { endReason } = await after.info(LOCAL, sandbox.id);
    expect(endReason).toBe(afterReboot === "lost" ? "files_lost" : undefined);
  });
});
