import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { guestIn, makeHome, startRun } from "../../../support/namespace-home.ts";

const STORAGES = process.getuid?.() === 0 ? (["tmpfs", "btrfs"] as const) : (["tmpfs"] as const);
const DISK_BYTES = 32 * 2 ** 20;
/** The longest path of folders: a full disk has room for so many by no chance, nor for a link of this length. */
const WORKSPACE = `/far${"/d".repeat(2_000)}`;
/** Until not one more file can be made, small or empty. */
const FILL = `head -c 64M /dev/urandom > /filler; i=0
while [ $i -lt 30000 ] && echo y > /small$i; do i=$((i + 1)); done
i=0; while [ $i -lt 30000 ] && : > /empty$i; do i=$((i + 1)); done; sync; echo z > /last`;

it.each(STORAGES)("a sandbox that moved the folders above its workspace and filled its disk on %s is started again", async (storage) => {
  await using home = await makeHome();
  const runtime = await home.open(storage);
  const path = join(home.path, "project");
  await mkdir(path);
  const own = await runtime.layers.describe({ template: "base" });
  const inside = { ...own, workspace: WORKSPACE, cwd: WORKSPACE };
  const options = { workspace: { path, mode: "copy" }, inside, limits: { diskBytes: DISK_BYTES } } as const;
  await using sandbox = await createSandbox(async () => runtime, options);
  const asRoot = { user: "root", cwd: "/" } as const;
  await sandbox.guest.files.write(`${WORKSPACE}/kept`, "x", { signal: soon() });
  let guest = sandbox.guest;
  let running = sandbox.running;
  for (const generation of [2, 3]) {
    expect((await run(guest, `rm -f /filler /empty1*; mv /far /moved${generation} && rm /workspace`, asRoot)).stderr.toString()).toBe("");
    expect((await run(guest, FILL, asRoot)).stderr.toString()).toMatch(/No space left|quota/);
    expect(await running.stop()).toMatchObject({ reason: "stopped", kept: true });
    running = await startRun(sandbox, generation);
    guest = guestIn(running);
    expect((await guest.files.read("/workspace/kept", { signal: soon() })).toString()).toBe("x");
  }
  await running[Symbol.asyncDispose]();
});
