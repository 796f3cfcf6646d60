import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import type { BelljarError } from "../../../src/errors.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { isRoot, outside } from "../../security/support/outside.ts";
import { openStateHome, shell, STATE_CONFIG, STATE_STORAGES, type StateHome } from "../../support/state-home.ts";

const signal = new AbortController().signal;

/** What a fork, a sandbox made from the snapshot, the same by a token with grants, and a rollback say. */
async function lostOfAll({ sandboxes }: StateHome, { id, point }: { readonly id: string; readonly point: string }) {
  const holder: Principal = { ...LOCAL, grants: {} };
  const [forks, created, granted] = [
    await sandboxes.snapshots.fork(LOCAL, { snapshot: id }, {}, signal),
    await sandboxes.create(LOCAL, { template: id }, signal),
    await sandboxes.create(holder, { template: id }, signal),
  ];
  const { timeLine } = await sandboxes.get(LOCAL, (await sandboxes.snapshots.info(LOCAL, id)).sandbox);
  const { lost } = await timeLine.rollback(point, signal);
  return [forks.lost, created.lost, granted.lost, lost];
}

for (const storage of STATE_STORAGES) {
  describe(`snapshots, with storage in ${storage}`, () => {
    it("hold the files of one moment, outlive their sandbox, and serve as templates", async () => {
      await using home = await openStateHome(storage);
      const { snapshots } = home.sandboxes;
      const sandbox = await home.sandboxes.create(LOCAL, { env: { COLOUR: "green" }, metadata: { kind: "test" } }, signal);
      await shell(sandbox, "echo first > notes; mkdir deep; echo x > deep/file; rm .profile");
      const made = await snapshots.create(LOCAL, sandbox.id, { name: "the first", description: "of a test" }, signal);
      expect(made).toMatchObject({ sandbox: sandbox.id, owner: "local", name: "the first", template: "base", runtime: "namespace" });
      await shell(sandbox, "echo second > notes; rm -r deep");
      await sandbox.kill();
      expect(await snapshots.list(LOCAL)).toEqual([made]);
      expect(await snapshots.info(LOCAL, "the first")).toEqual(made);

      const created = await home.sandboxes.create(LOCAL, { template: "the first" }, signal);
      const [fork] = await snapshots.fork(LOCAL, { snapshot: made.id }, { env: { SIZE: "9" } }, signal);
      for (const one of [created, fork!]) expect(await shell(one, "cat notes deep/file; ls .profile")).toBe("first\nx");
      expect(await shell(fork!, "echo $COLOUR $SIZE")).toBe("green 9");
      expect(await shell(created, "echo $COLOUR")).toBe("");
      expect(await fork!.info()).toMatchObject({ metadata: { kind: "test" }, template: "base" });
      await snapshots.remove(LOCAL, "the first");
      expect(await shell(created, "cat notes")).toBe("first");
      await expect(snapshots.info(LOCAL, made.id)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
      await expect(home.sandboxes.create(LOCAL, { template: made.id }, signal)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
      for (const one of [created, fork!]) await one.kill();
      await home.sandboxes.sweep();
      expect([await home.layers(), home.problems]).toEqual([[], []]);
    });

    it("of forks of forks keep what they hold, in whichever order the others go", async () => {
      await using home = await openStateHome(storage);
      const { snapshots } = home.sandboxes;
      const first = await home.sandboxes.create(LOCAL, {}, signal);
      await shell(first, "echo 1 > one; echo shared > file");
      const a = await snapshots.create(LOCAL, first.id, {}, signal);
      const [second] = await snapshots.fork(LOCAL, { snapshot: a.id }, {}, signal);
      await shell(second!, "echo 2 > two; rm file");
      const b = await snapshots.create(LOCAL, second!.id, {}, signal);
      const [third] = await snapshots.fork(LOCAL, { sandbox: second!.id }, {}, signal);
      await shell(third!, "echo 3 > three");
      await snapshots.remove(LOCAL, a.id);
      await second!.kill();
      const [fourth] = await snapshots.fork(LOCAL, { snapshot: b.id }, {}, signal);
      await snapshots.remove(LOCAL, b.id);
      await first.kill();
      expect(await shell(third!, "cat one two three; ls file")).toBe("1\n2\n3");
      expect(await shell(fourth!, "cat one two; ls three file")).toBe("1\n2");
      for (const one of [third, fourth]) await one!.kill();
      await home.sandboxes.sweep();
      expect([await home.layers(), home.problems]).toEqual([[], []]);
    });

    it("are taken of stopped and of paused sandboxes too", async () => {
      await using home = await openStateHome(storage);
      const { snapshots } = home.sandboxes;
      const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
      await shell(sandbox, "echo kept > notes");
      await sandbox.stop();
      const { id } = await snapshots.create(LOCAL, sandbox.id, {}, signal);
      await (await home.sandboxes.get(LOCAL, sandbox.id)).start(signal);
      const [fork] = await snapshots.fork(LOCAL, { snapshot: id }, {}, signal);
      expect(await shell(fork!, "cat notes")).toBe("kept");
    });
  });
}

describe("forks", () => {
  it("say what of a workspace is not as it was", async () => {
    await using home = await openStateHome();
    const { snapshots } = home.sandboxes;
    const above = await mkdtemp(`${tmpdir()}/belljar-workspace-`);
    const folder = `${above}/project`;
    const changed = [expect.stringContaining(`The workspace ${folder} has changed on the host since`)];
    const lostOf = async (snapshot: string) => (await snapshots.fork(LOCAL, { snapshot }, {}, signal)).lost;
    try {
      await mkdir(folder);
      await writeFile(`${folder}/file`, "host");
      const sandbox = await home.sandboxes.create(LOCAL, { workspace: { path: folder, mode: "copy" } }, signal);
      const [one, other] = [await snapshots.create(LOCAL, sandbox.id, {}, signal), await home.sandboxes.create(LOCAL, {}, signal)];
      expect(await snapshots.info(LOCAL, one.id)).not.toHaveProperty("workspaceMark");
      expect(await lostOf(one.id)).toEqual([]);
      await rename(folder, `${above}/kept`);
      await mkdir(folder);
      await utimes(folder, 0, 0);
      expect(await lostOf(one.id)).toEqual(changed);
      await rm(folder, { recursive: true });
      await rename(`${above}/kept`, folder);
      await writeFile(`${folder}/file`, "changed");
      expect(await lostOf(one.id)).toEqual(changed);
      expect((await snapshots.fork(LOCAL, { sandbox: sandbox.id }, {}, signal)).lost).toEqual([]);
      expect(await lostOf((await snapshots.create(LOCAL, sandbox.id, {}, signal)).id)).toEqual([]);
      expect(await lostOf((await snapshots.create(LOCAL, other.id, {}, signal)).id)).toEqual([]);
      const shared = await home.sandboxes.create(LOCAL, { workspace: { path: folder, mode: "rw" } }, signal);
      expect(await lostOf((await snapshots.create(LOCAL, shared.id, {}, signal)).id)).toEqual([
        expect.stringContaining("stay as they are now"),
      ]);
    } finally {
      await rm(above, { recursive: true });
    }
  });

  it.skipIf(!isRoot)("of a folder whose disk is mounted no more say so (skipped: only root mounts)", async () => {
    await using home = await openStateHome();
    const { snapshots } = home.sandboxes;
    const folder = await mkdtemp(`${tmpdir()}/belljar-workspace-`);
    const disk = await mkdtemp(`${tmpdir()}/belljar-disk-`);
    try {
      await outside(["mount", "--bind", disk, folder]);
      const sandbox = await home.sandboxes.create(LOCAL, { workspace: { path: folder, mode: "copy" } }, signal);
      const { id } = await snapshots.create(LOCAL, sandbox.id, {}, signal);
      await sandbox.kill();
      await outside(["umount", folder]);
      // Nothing in it has changed since.
      const { lost } = await snapshots.fork(LOCAL, { snapshot: id }, {}, signal);
      expect(lost).toEqual([expect.stringContaining(`The workspace ${folder} has changed on the host since`)]);
    } finally {
      await outside(["umount", folder]);
      for (const path of [folder, disk]) await rm(path, { recursive: true });
    }
  });

  it("and sandboxes with a snapshot in the place of a template say that the host's /usr is not as it was", async () => {
    await using home = await openStateHome();
    const { snapshots } = home.sandboxes;
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const [{ id }, point] = [await snapshots.create(LOCAL, sandbox.id, {}, signal), await sandbox.timeLine.checkpoint({}, signal)];
    expect([await snapshots.info(LOCAL, id), point]).toEqual(Array(2).fill(expect.not.objectContaining({ baseMark: expect.anything() })));
    expect(await lostOfAll(home, { id, point: point.id })).toEqual(Array(4).fill([]));
    expect((await home.sandboxes.create(LOCAL, {}, signal)).lost).toBeUndefined();

    Object.assign(home.runtime.layers.states!, { markBase: () => "another" });
    const told = [expect.stringContaining("The host's /usr has changed since: files that the sandbox had not changed")];
    expect(await lostOfAll(home, { id, point: point.id })).toEqual(Array(4).fill(told));
    // What is taken now is taken on what the host has now.
    const now = await snapshots.create(LOCAL, sandbox.id, {}, signal);
    expect(await lostOfAll(home, { id: now.id, point: now.id })).toEqual(Array(4).fill([]));
  });

  it("of a snapshot without a mark, as an earlier release took it, say nothing of the host's /usr", async () => {
    await using home = await openStateHome();
    const states = home.runtime.layers.states!;
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    Object.assign(states, { markBase: () => undefined });
    const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal);
    Object.assign(states, { markBase: () => "another" });
    expect(await lostOfAll(home, { id, point: id })).toEqual(Array(4).fill([]));
  });

  it("are made all or none", async () => {
    await using home = await openStateHome("home", { quotas: { sandboxes: 4 } });
    const { snapshots } = home.sandboxes;
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    await expect(snapshots.fork(LOCAL, { sandbox: sandbox.id }, { count: 4 }, signal)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    const live = async () => (await home.sandboxes.list(LOCAL, { filter: { state: ["running"] } })).sandboxes.map(({ id }) => id);
    expect(await live()).toEqual([sandbox.id]);
    expect(await home.layers()).toEqual([]);
    const forks = await snapshots.fork(LOCAL, { sandbox: sandbox.id }, { count: 3 }, signal);
    expect((await live()).toSorted()).toEqual([sandbox, ...forks].map(({ id }) => id).toSorted());
    expect(await snapshots.list(LOCAL)).toEqual([]);
  });

  it("have limits of their own, or those of the original", async () => {
    await using home = await openStateHome();
    const { snapshots } = home.sandboxes;
    const limits = { ...STATE_CONFIG.sandbox, pids: 50, timeoutMs: undefined };
    const { id } = await home.sandboxes.create(LOCAL, { limits: { pids: limits.pids }, bestEffort: true, name: "original" }, signal);
    const [same] = await snapshots.fork(LOCAL, { sandbox: "original" }, { name: "copy" }, signal);
    expect(await same!.info()).toMatchObject({ name: "copy", limits: { pids: 50 } });
    const [other] = await snapshots.fork(LOCAL, { sandbox: id }, { limits: { pids: 40 }, bestEffort: true }, signal);
    expect((await other!.info()).limits.pids).toBe(40);
    expect((await other!.info()).name).toBeUndefined();
    await expect(snapshots.fork(LOCAL, { sandbox: id }, { count: 2, name: "x" }, signal)).rejects.toMatchObject({
      code: "ARGUMENTS_INVALID",
    });
    for (const count of [0, 101, 1.5])
      await expect(snapshots.fork(LOCAL, { sandbox: id }, { count }, signal)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  });
});

describe("names and quotas of snapshots", () => {
  it("hold for all processes of the home together", async () => {
    await using home = await openStateHome("home", { quotas: { snapshots: 3 } });
    const other = await home.open();
    const { id } = await home.sandboxes.create(LOCAL, {}, signal);
    const both = [home.sandboxes, other, home.sandboxes, other];
    const named = await Promise.allSettled(both.map(({ snapshots }) => snapshots.create(LOCAL, id, { name: "same" }, signal)));
    expect(named.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const codes = named.flatMap((one) => (one.status === "rejected" ? [(one.reason as BelljarError).code] : []));
    expect(["SNAPSHOT_NAME_TAKEN", "RUNTIME_UNAVAILABLE"]).toEqual(expect.arrayContaining([...new Set(codes)]));
    const [only] = await other.snapshots.list(LOCAL);
    for (let count = 1; count < 3; count += 1) await home.sandboxes.snapshots.create(LOCAL, id, {}, signal);
    await expect(other.snapshots.create(LOCAL, id, {}, signal)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    await other.snapshots.remove(LOCAL, only!.id);
    expect((await home.sandboxes.snapshots.create(LOCAL, id, { name: "same" }, signal)).name).toBe("same");
    await expect(home.sandboxes.snapshots.create(LOCAL, id, { name: id }, signal)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  });
});
