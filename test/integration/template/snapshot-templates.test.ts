import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { temporaryFolder } from "../../support/image-maker.ts";
import { shell, STATE_STORAGES } from "../../support/state-home.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";

const signal = new AbortController().signal;
const OTHER: Principal = { id: "other", name: "other" };
const TOKEN: Principal = { id: "local", name: "agent", grants: {} };

async function takeSnapshot(home: TemplateHome, text: string): Promise<string> {
  const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
  await shell(sandbox, `echo ${text} > /home/user/made`);
  const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal);
  await sandbox.kill();
  return id;
}

async function start(home: TemplateHome, template: string, principal = LOCAL) {
  return home.sandboxes.create(principal, { template }, signal);
}

for (const storage of STATE_STORAGES) {
  it(`a snapshot is a template that outlives it, with storage in ${storage}`, async () => {
    await using home = await openTemplateHome({ storage });
    const snapshot = await takeSnapshot(home, "first");
    const made = await home.templates.make(LOCAL, { name: "mine", snapshot }, signal);
    await home.sandboxes.snapshots.remove(LOCAL, snapshot);
    const sandbox = await start(home, "mine");
    expect(await shell(sandbox, "cat /home/user/made; whoami")).toBe("first\nuser");
    expect((await sandbox.info()).template).toBe("mine");
    expect(await home.templates.list(LOCAL)).toEqual([made]);

    await home.templates.remove(LOCAL, "mine");
    await expect(start(home, "mine")).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
    await sandbox.stop();
    expect(await shell(await sandbox.start(signal), "cat /home/user/made")).toBe("first");
    await (await home.sandboxes.get(LOCAL, sandbox.id)).kill();
    await home.sweepOld();
    expect(await home.layers()).toEqual([]);
  });
}

for (const storage of STATE_STORAGES) {
  it(`a snapshot counts what each of its layers holds, with storage in ${storage}`, async () => {
    await using home = await openTemplateHome({ storage });
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    await shell(sandbox, "head -c 300000 /dev/zero > /home/user/removed; mkdir -m 0 /home/user/closed");
    await sandbox.timeLine.checkpoint({}, signal);
    await shell(sandbox, "rm /home/user/removed; head -c 40000 /dev/zero > /home/user/left");
    await sandbox.guest.run({ argv: ["sh", "-c", "head -c 2000 /dev/zero > /usr/local/of-root"], user: "root", signal });
    const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal);
    const below = await home.templates.make(LOCAL, { name: "below", snapshot: id }, signal);
    await sandbox.kill();
    // On a disk without clones the checkpoint is a layer of its own, which still holds what was removed.
    const held = 42_000 + (storage === "home" ? 300_000 : 0);
    expect(below.bytes).toBeGreaterThanOrEqual(held);
    expect(below.bytes).toBeLessThan(held + 1_000);
    const above = await start(home, "below");
    await shell(above, "head -c 5000 /dev/zero > /home/user/above");
    const other = await home.sandboxes.snapshots.create(LOCAL, above.id, {}, signal);
    await above.kill();
    const { bytes } = await home.templates.make(LOCAL, { name: "above", snapshot: other.id }, signal);
    expect(bytes - below.bytes).toBeGreaterThanOrEqual(5_000);
    expect(bytes - below.bytes).toBeLessThan(6_000);
  });
}

for (const storage of STATE_STORAGES) {
  it(`a whole snapshot counts what its layers hold of a copied workspace, with storage in ${storage}`, async () => {
    await using home = await openTemplateHome({ storage });
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, "of-the-host"), Buffer.alloc(3_000));
    const workspace = { path: folder.path, mode: "copy" } as const;
    const sandbox = await home.sandboxes.create(LOCAL, { workspace }, signal);
    await shell(sandbox, "head -c 500000 /dev/zero > /workspace/gone; head -c 20000 /dev/zero > /workspace/made");
    await sandbox.timeLine.checkpoint({}, signal);
    await shell(sandbox, "rm /workspace/gone");
    const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, { whole: true }, signal);
    await sandbox.kill();
    const { bytes } = await home.templates.make(LOCAL, { name: "whole", snapshot: id }, signal);
    // As above: there the checkpoint is a layer of its own.
    expect(bytes).toBeGreaterThanOrEqual(23_000 + (storage === "home" ? 520_000 : 0));
  });
}

it("a snapshot that is larger than a template may be, or than the quota has room for, is none and leaves nothing", async () => {
  const options = { maxBytes: 1_500_000, quotas: { templateBytes: 2_000_000 } };
  await using home = await openTemplateHome(options);
  const snapshotOf = async (bytes: number): Promise<string> => {
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    await shell(sandbox, `head -c ${bytes} /dev/zero > /home/user/made`);
    const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal);
    await sandbox.kill();
    return id;
  };
  const make = (name: string, snapshot: string) => home.templates.make(LOCAL, { name, snapshot }, signal);
  const [large, fits] = [await snapshotOf(1_600_000), await snapshotOf(1_200_000)];
  await expect(make("large", large)).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
  await make("one", fits);
  await expect(make("two", fits)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  await make("one", fits);
  expect((await home.templates.list(LOCAL)).map(({ name }) => name)).toEqual(["one"]);
  await home.templates.remove(LOCAL, "one");
  for (const snapshot of [large, fits]) await home.sandboxes.snapshots.remove(LOCAL, snapshot);
  await home.sweepOld();
  expect(await home.layers()).toEqual([]);
});

it("whoever makes a template of a snapshot may give up, and nothing is left", async () => {
  await using home = await openTemplateHome();
  const snapshot = await takeSnapshot(home, "first");
  const states = home.runtime.layers.states!;
  const [measure, caller] = [states.measure.bind(states), new AbortController()];
  using _ = vi.spyOn(states, "measure").mockImplementation((...args) => (caller.abort(), measure(...args)));
  await expect(home.templates.make(LOCAL, { name: "mine", snapshot }, caller.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  await home.sandboxes.snapshots.remove(LOCAL, snapshot);
  await home.sweepOld();
  expect(await home.layers()).toEqual([]);
});

it("sandboxes of a template can be forked, and put back to what it gave them", async () => {
  await using home = await openTemplateHome();
  await home.templates.make(LOCAL, { name: "mine", snapshot: await takeSnapshot(home, "first") }, signal);
  const sandbox = await start(home, "mine");
  const { id } = await sandbox.timeLine.checkpoint({}, signal);
  await shell(sandbox, "echo later > /home/user/made");
  const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { sandbox: sandbox.id }, {}, signal);
  const { sandbox: back } = await sandbox.timeLine.rollback(id, signal);
  expect([await shell(fork!, "cat /home/user/made"), await shell(back, "cat /home/user/made")]).toEqual(["later", "first"]);
});

it("a template of the same name takes the place of the one before, whose sandboxes keep their files", async () => {
  await using home = await openTemplateHome();
  await home.templates.make(LOCAL, { name: "mine", snapshot: await takeSnapshot(home, "first") }, signal);
  const before = await start(home, "mine");
  const { id } = await home.templates.make(LOCAL, { name: "mine", snapshot: await takeSnapshot(home, "second") }, signal);
  expect((await home.templates.list(LOCAL)).map((one) => one.id)).toEqual([id]);
  expect([await shell(before, "cat /home/user/made"), await shell(await start(home, "mine"), "cat /home/user/made")]).toEqual([
    "first",
    "second",
  ]);
});

it("only one call at a time makes a template of a name", async () => {
  await using home = await openTemplateHome();
  const snapshot = await takeSnapshot(home, "first");
  const all = await Promise.allSettled([1, 2, 3].map(() => home.templates.make(LOCAL, { name: "mine", snapshot }, signal)));
  for (const { reason } of all.filter((one) => one.status === "rejected")) expect(reason).toMatchObject({ code: "TEMPLATE_BUSY" });
  expect(all.some(({ status }) => status === "fulfilled")).toBe(true);
  expect(await home.templates.list(LOCAL)).toHaveLength(1);
});

it("others know of no template until it is shared, and then only start from it", async () => {
  await using home = await openTemplateHome();
  await home.templates.make(LOCAL, { name: "mine", snapshot: await takeSnapshot(home, "first") }, signal);
  const unknown = { code: "TEMPLATE_NOT_FOUND" };
  await expect(home.templates.info(OTHER, "mine")).rejects.toMatchObject(unknown);
  await expect(start(home, "mine", OTHER)).rejects.toMatchObject(unknown);
  await expect(home.templates.share(TOKEN, "mine", true)).rejects.toMatchObject({ code: "FORBIDDEN" });

  await home.templates.share(LOCAL, "mine", true);
  expect(await shell(await start(home, "mine", OTHER), "cat /home/user/made")).toBe("first");
  expect((await home.templates.info(OTHER, "mine")).isShared).toBe(true);
  for (const change of [() => home.templates.remove(OTHER, "mine"), () => home.templates.share(OTHER, "mine", false)])
    await expect(change()).rejects.toMatchObject(unknown);

  await home.templates.share(LOCAL, "mine", false);
  await expect(start(home, "mine", OTHER)).rejects.toMatchObject(unknown);
});

it("what was left of a template in the making is removed by a sweep", async () => {
  await using home = await openTemplateHome();
  const failing = home.templates.make(LOCAL, { name: "mine", snapshot: "nothing" }, signal);
  await expect(failing).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
  await home.sandboxes.sweep();
  const left = await readdir(join(home.crash.home, "templates"));
  expect(left.filter((name) => name.length === 20)).toEqual([]);
});

it("its limits are those of its sandboxes whose makers name none, as far as a token allows", async () => {
  await using home = await openTemplateHome();
  const snapshot = await takeSnapshot(home, "first");
  const limits = { pids: 40, memoryBytes: 2 ** 27 };
  const make = (wished: object) => home.templates.make(LOCAL, { name: "mine", snapshot, limits: wished }, signal);
  await expect(make({ pids: 1 })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  expect(await make(limits)).toMatchObject({ limits });
  expect((await (await start(home, "mine")).info()).limits).toMatchObject(limits);
  const named = await home.sandboxes.create(LOCAL, { template: "mine", limits: { pids: 50 } }, signal);
  expect((await named.info()).limits).toMatchObject({ ...limits, pids: 50 });
  const narrow: Principal = { id: "local", name: "agent", grants: { limits: { pids: 30 } } };
  expect((await (await start(home, "mine", narrow)).info()).limits).toMatchObject({ ...limits, pids: 30 });
});

it("a shared template lowers the limits of other owners' sandboxes, and raises none", async () => {
  await using home = await openTemplateHome();
  const snapshot = await takeSnapshot(home, "first");
  await home.templates.make(LOCAL, { name: "mine", snapshot, limits: { pids: 2_000, memoryBytes: 2 ** 27 } }, signal);
  await home.templates.share(LOCAL, "mine", true);
  expect((await (await start(home, "mine")).info()).limits).toMatchObject({ pids: 2_000, memoryBytes: 2 ** 27 });
  expect((await (await start(home, "mine", OTHER)).info()).limits).toMatchObject({ pids: 64, memoryBytes: 2 ** 27 });
});

it("a token makes no template with more than it may give a sandbox", async () => {
  await using home = await openTemplateHome();
  const narrow: Principal = { id: "other", name: "agent", grants: { limits: { pids: 30 } } };
  const options = { name: "mine", snapshot: "none", limits: { pids: 31 } };
  await expect(home.templates.make(narrow, options, signal)).rejects.toMatchObject({ code: "FORBIDDEN" });
  await expect(home.templates.builds.begin(narrow, options)).rejects.toMatchObject({ code: "FORBIDDEN" });
});
