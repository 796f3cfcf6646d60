import { describe, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openStateHome, shell, STATE_STORAGES } from "../../support/state-home.ts";

const signal = new AbortController().signal;

for (const storage of STATE_STORAGES) {
  describe(`a rollback, with storage in ${storage}`, () => {
    it("gives the sandbox the files of its checkpoint, whether it runs or is stopped", async () => {
      await using home = await openStateHome(storage);
      const sandbox = await home.sandboxes.create(LOCAL, { timeoutMs: 500_000 }, signal);
      const { deadline } = await sandbox.info();
      await shell(sandbox, "echo one > notes; mkdir kept; echo x > kept/file");
      const one = await sandbox.timeLine.checkpoint({ label: "the first" }, signal);
      await shell(sandbox, "echo two > notes; rm -r kept; mkdir added");
      const two = await sandbox.timeLine.checkpoint({}, signal);
      expect(await sandbox.timeLine.list()).toEqual({ checkpoints: [one, two], head: two.id, calls: [] });
      expect([one.label, two.parent]).toEqual(["the first", one.id]);

      const back = await sandbox.timeLine.rollback(one.id, signal);
      expect(back).toMatchObject({ checkpoint: one.id, lost: [] });
      expect(await shell(back.sandbox, "cat notes kept/file; ls -d added")).toBe("one\nx");
      expect(await back.sandbox.info()).toMatchObject({ id: sandbox.id, state: "running", deadline });
      expect(await (await home.sandboxes.get(LOCAL, sandbox.id)).timeLine.list()).toMatchObject({ head: one.id });

      await back.sandbox.stop();
      const stopped = await home.sandboxes.get(LOCAL, sandbox.id);
      const forth = await stopped.timeLine.rollback(two.id, signal);
      expect(await shell(forth.sandbox, "cat notes; ls -d added kept")).toBe("two\nadded");
      await forth.sandbox.timeLine.remove(one.id);
      await expect(forth.sandbox.timeLine.rollback(one.id, signal)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
      await expect(forth.sandbox.timeLine.remove(one.id)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
      await forth.sandbox.kill();
      await home.sandboxes.sweep();
      expect([await home.layers(), home.problems]).toEqual([[], []]);
    });

    it("leads to snapshots of the sandbox, and to no others", async () => {
      await using home = await openStateHome(storage);
      const { snapshots } = home.sandboxes;
      const [sandbox, other] = [await home.sandboxes.create(LOCAL, {}, signal), await home.sandboxes.create(LOCAL, {}, signal)];
      await shell(sandbox, "echo kept > notes");
      const own = await snapshots.create(LOCAL, sandbox.id, {}, signal);
      const strange = await snapshots.create(LOCAL, other.id, {}, signal);
      await shell(sandbox, "rm notes");
      await expect(sandbox.timeLine.rollback(strange.id, signal)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
      const back = await sandbox.timeLine.rollback(own.id, signal);
      expect(await shell(back.sandbox, "cat notes")).toBe("kept");
    });
  });
}

describe("a rollback", () => {
  it("ends the programs, names them, and tells their streams why, in other processes too", async () => {
    await using home = await openStateHome();
    const other = await home.open();
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const point = await sandbox.timeLine.checkpoint({}, signal);
    const process = await sandbox.guest.keep("context-python", { argv: ["sleep", "600"], signal });
    process.detach();
    const held = await other.get(LOCAL, sandbox.id);
    const runs = [sandbox, held].map(({ guest }) => guest.run({ argv: ["sleep", "600"], signal }).catch((cause: unknown) => cause));
    await shell(held, "true");
    const { ended } = await sandbox.timeLine.rollback(point.id, signal);
    expect(ended).toContain("context python");
    for (const run of runs) expect(await run).toMatchObject({ code: "SANDBOX_ROLLED_BACK" });
    await expect(shell(sandbox, "true")).rejects.toMatchObject({ code: "SANDBOX_ROLLED_BACK" });
    expect(await shell(await other.get(LOCAL, sandbox.id), "echo again")).toBe("again");
  });

  it("says what of a workspace it cannot bring back", async () => {
    await using home = await openStateHome();
    const { mkdtemp, writeFile, rm } = await import("node:fs/promises");
    const { tmpdir } = await import("node:os");
    const folder = await mkdtemp(`${tmpdir()}/belljar-workspace-`);
    try {
      await writeFile(`${folder}/file`, "host");
      const sandbox = await home.sandboxes.create(LOCAL, { workspace: { path: folder, mode: "copy" } }, signal);
      const point = await sandbox.timeLine.checkpoint({}, signal);
      const same = await sandbox.timeLine.rollback(point.id, signal);
      expect(same.lost).toEqual([]);
      await writeFile(`${folder}/file`, "changed");
      const { lost } = await same.sandbox.timeLine.rollback(point.id, signal);
      expect(lost).toEqual([expect.stringContaining(`The workspace ${folder} has changed on the host since`)]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("of which nothing is left after a kill gives an error that says so", async () => {
    await using home = await openStateHome();
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const point = await sandbox.timeLine.checkpoint({}, signal);
    await sandbox.kill();
    await expect(sandbox.timeLine.rollback(point.id, signal)).rejects.toMatchObject({
      code: expect.stringMatching(/CHECKPOINT_NOT_FOUND|SANDBOX_ENDED/) as string,
    });
    await expect(sandbox.timeLine.checkpoint({}, signal)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
    await expect(home.sandboxes.snapshots.create(LOCAL, sandbox.id, {}, signal)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
    expect(await home.layers()).toEqual([]);
  });
});
