import { chmodSync, existsSync, renameSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { findIdMap, ID_MAP_KIND } from "../../../../src/runtime/namespace/id-map.ts";
import { type ContractSandbox, createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { isRoot, outside } from "../../../security/support/outside.ts";
import { holderOf, mountsOf, removerOf } from "../../../support/home-traces.ts";
import { guestIn, type Home, makeHome, startRun } from "../../../support/namespace-home.ts";

const HOLDER = `holder-${ID_MAP_KIND[findIdMap().kind]}`;

const runsOf = (home: Home): string => join(home.path, "run");

it("the holder serves others while dropped layers are still being removed", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.running.stop();
  const holder = holderOf(runsOf(home));
  const remover = removerOf(holder);
  const isMounted = (): boolean => mountsOf(holder).includes(`/${sandbox.spec.id}`);
  process.kill(remover, "SIGSTOP");
  try {
    await runtime.layers.remove(sandbox.spec);
    await using other = await createSandbox(async () => runtime);
    expect((await run(other.guest, "exit 5")).exitCode).toBe(5);
    expect(isMounted()).toBe(true);
  } finally {
    process.kill(remover, "SIGCONT");
  }
  await vi.waitUntil(() => !isMounted(), { timeout: 30_000 });
});

it("a holder whose remover was killed removes layers by itself", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  const holder = holderOf(runsOf(home));
  const remover = removerOf(holder);
  process.kill(remover, "SIGKILL");
  await vi.waitUntil(() => !existsSync(`/proc/${remover}`), { timeout: 30_000 });
  await sandbox.running.stop();
  await runtime.layers.remove(sandbox.spec);
  expect(mountsOf(holder)).toEqual(["/"]);
});

it("a holder that has missed events drops the layers of deleted folders, and no others", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using kept = await createSandbox(async () => runtime);
  await using deleted = await createSandbox(async () => runtime);
  await kept.guest.files.write("kept", "x", { signal: soon() });
  await kept.running.stop();
  await deleted.running.stop();
  await deleteUnheard(home, deleted);
  await using again = await startRun(kept, 2);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
});

it.skipIf(!isRoot)(`layers outlive an unmount of their sandbox's disk${isRoot ? "" : " (skipped: root alone mounts)"}`, async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  const [disk, aside] = [join(home.path, "disk"), join(home.path, "aside")];
  const folder = join(disk, "sandbox");
  const mount = (): Promise<unknown> => outside(["mount", "-t", "tmpfs", "disk", disk]);
  await mkdir(disk);
  await mount();
  await mkdir(folder);
  await using deleted = await createSandbox(async () => runtime);
  const sandbox = await createSandbox(async () => runtime, { folder });
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  await deleted.running.stop();
  expect(await outside(["cp", "-a", folder, aside])).toMatchObject({ code: 0 });
  expect(await outside(["umount", disk])).toMatchObject({ code: 0, err: "" });
  await deleteUnheard(home, deleted);
  await mount();
  await outside(["cp", "-a", aside, folder]);
  await using again = await startRun(sandbox, 2);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
  await again.kill("killed");
  await outside(["umount", disk]);
});

/** Deletes a stopped sandbox's folder while the holder is told of nothing, and resolves once it has found out. */
async function deleteUnheard(home: Home, { spec }: ContractSandbox): Promise<void> {
  const holder = holderOf(runsOf(home));
  const socket = join(runsOf(home), HOLDER);
  const events = Number(await readFile("/proc/sys/fs/inotify/max_queued_events", "utf8"));
  process.kill(holder, "SIGSTOP");
  await vi.waitUntil(async () => /^State:\s+T/m.test(await readFile(`/proc/${holder}/status`, "utf8")), { timeout: 30_000 });
  try {
    // Two events each time: the kernel joins equal ones that follow one another.
    for (let i = 0; i <= events / 2; i += 1) {
      chmodSync(socket, 0o700);
      renameSync(socket, `${socket}.moved`);
      renameSync(`${socket}.moved`, socket);
    }
    await rm(spec.folder, { recursive: true });
    await mkdir(spec.folder); // so that the sandbox can be disposed
  } finally {
    process.kill(holder, "SIGCONT");
  }
  await vi.waitUntil(() => !mountsOf(holder).includes(`/${spec.id}`), { timeout: 30_000 });
}
