import { execFile } from "node:child_process";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openStateHome, shell, STATE_STORAGES } from "../../support/state-home.ts";

const run = promisify(execFile);
const signal = new AbortController().signal;
const TURNS = 6;

for (const storage of STATE_STORAGES) {
  describe(`states that several processes work on at once, with storage in ${storage}`, () => {
    it("are put back by one after the other", async () => {
      await using home = await openStateHome(storage);
      const other = await home.open();
      const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
      const points = new Map<string, string>();
      for (const text of ["one", "two"]) {
        await shell(sandbox, `echo ${text} > notes`);
        points.set((await sandbox.timeLine.checkpoint({}, signal)).id, text);
      }
      const [one = "", two = ""] = points.keys();
      for (let turn = 0; turn < TURNS; turn += 1) {
        const roll = async (sandboxes: typeof other, point: string) =>
          (await sandboxes.get(LOCAL, sandbox.id)).timeLine.rollback(point, signal);
        const back = await Promise.all([roll(home.sandboxes, one), roll(other, two)]);
        expect(back.map(({ checkpoint }) => checkpoint)).toEqual([one, two]);
        const { head = "" } = await (await other.get(LOCAL, sandbox.id)).timeLine.list();
        // The handle of the later one: the other process may not have heard yet that its run was stopped for that.
        const later = back.find(({ checkpoint }) => checkpoint === head);
        expect(later && (await shell(later.sandbox, "cat notes"))).toBe(points.get(head));
      }
    });

    it("are put back and started, and frozen and started, without a refusal", async () => {
      await using home = await openStateHome(storage);
      const other = await home.open();
      const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
      await shell(sandbox, "echo kept > notes");
      const { id: point } = await sandbox.timeLine.checkpoint({}, signal);
      for (let turn = 0; turn < TURNS; turn += 1) {
        await (await home.sandboxes.get(LOCAL, sandbox.id)).stop();
        const [here, there] = [await home.sandboxes.get(LOCAL, sandbox.id), await other.get(LOCAL, sandbox.id)];
        const work = turn % 2 === 0 ? here.timeLine.rollback(point, signal) : here.timeLine.checkpoint({}, signal);
        await Promise.all([work, there.start(signal)]);
        expect(await shell(await other.get(LOCAL, sandbox.id), "cat notes")).toBe("kept");
      }
    });

    it("are forked whole or not at all while their sandbox is killed", async () => {
      await using home = await openStateHome(storage);
      const other = await home.open();
      for (let turn = 0; turn < TURNS; turn += 1) {
        const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
        await shell(sandbox, "echo kept > notes");
        // Awaited from now on: it may be refused before the kill is done.
        const fork = Promise.allSettled([other.snapshots.fork(LOCAL, { sandbox: sandbox.id }, { count: 2 }, signal)]);
        await new Promise((resolve) => setTimeout(resolve, turn * 8)); // each time a little later
        await sandbox.kill();
        const [made] = await fork;
        const forks = made.status === "fulfilled" ? made.value : [];
        for (const one of forks) {
          expect(await shell(one, "cat notes")).toBe("kept");
          await one.kill();
        }
        const told = made.status === "rejected" ? (made.reason as { code: string }).code : "made";
        expect(["SANDBOX_ENDED", "SANDBOX_NOT_FOUND", "made"]).toContain(told);
      }
      for (let sweep = 0; sweep < 3; sweep += 1) await home.sweepOld();
      expect([await home.layers(), home.problems]).toEqual([[], []]);
    });
  });
}

async function fill(path: string): Promise<void> {
  for (const size of [1 << 20, 4096, 1])
    for (let isFull = false; !isFull;)
      isFull = await appendFile(path, Buffer.alloc(size)).then(
        () => false,
        () => true,
      );
}

describe.skipIf(process.getuid?.() !== 0)("a snapshot while the disk is full", () => {
  it("is refused, leaves nothing, and succeeds once there is room", async () => {
    const disk = await mkdtemp(join(tmpdir(), "bj-full-"));
    await run("mount", ["-t", "tmpfs", "-o", "size=256m", "none", disk]);
    try {
      await using home = await openStateHome("home", {}, disk);
      const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
      await shell(sandbox, "head -c 8000000 /dev/urandom > data; echo kept > notes");
      await fill(join(disk, "filler"));
      for (const take of [
        () => home.sandboxes.snapshots.create(LOCAL, sandbox.id, { name: "full" }, signal),
        () => sandbox.timeLine.checkpoint({}, signal),
        () => home.sandboxes.snapshots.fork(LOCAL, { sandbox: sandbox.id }, {}, signal),
      ])
        await expect(take()).rejects.toMatchObject({ code: "DISK_FULL" });
      await rm(join(disk, "filler"));
      expect(await home.sandboxes.snapshots.list(LOCAL)).toEqual([]);
      const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, { name: "full" }, signal);
      const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { snapshot: id }, {}, signal);
      expect(await shell(fork!, "cat notes; wc -c < data")).toBe("kept\n8000000");
      await fork!.kill();
      await sandbox.kill();
      await home.sandboxes.snapshots.remove(LOCAL, id);
      for (let sweep = 0; sweep < 3; sweep += 1) await home.sweepOld();
      expect([await home.layers(), home.problems]).toEqual([[], []]);
    } finally {
      await run("umount", [disk]);
      await rm(disk, { recursive: true });
    }
  });
});
