import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { LocalSandboxesOptions } from "../../../src/sandbox/local-sandboxes-options.ts";
import { LOCAL, type Sandbox } from "../../../src/sandbox/sandbox.ts";
import { checkpointBeforeCalls } from "../../../src/sandbox/state/last-call.ts";
import { markProcess } from "../../../src/sandbox/workspace/apply/process-mark.ts";
import { commandDoor } from "../../support/call-lab.ts";
import { openStateHome, shell, STATE_CONFIG, STATE_STORAGES, type StateHome } from "../../support/state-home.ts";

const run = promisify(execFile);
const signal = new AbortController().signal;

function configured(autoCheckpoint: "auto" | "per_call" | "off", autoCheckpointKeep = 20): Pick<LocalSandboxesOptions, "config"> {
  return { config: { ...STATE_CONFIG, sandbox: { ...STATE_CONFIG.sandbox, autoCheckpoint, autoCheckpointKeep } } };
}

const PER_CALL = configured("per_call");

/** The tools before whose calls there are checkpoints, the oldest first. */
async function before({ timeLine }: Sandbox): Promise<readonly (string | undefined)[]> {
  return (await timeLine.list()).checkpoints.map((one) => one.before);
}

/** Takes back the last calls. */
async function rewind(home: StateHome, id: string, calls: number): Promise<Sandbox> {
  const sandbox = await home.sandboxes.get(LOCAL, id);
  return (await sandbox.timeLine.rollback((await checkpointBeforeCalls(sandbox, calls)).id, signal)).sandbox;
}

for (const storage of STATE_STORAGES) {
  describe(`checkpoints before calls, with storage in ${storage}`, () => {
    it("take back any of the last calls, one after the other, and the calls after that", async () => {
      await using home = await openStateHome(storage, PER_CALL);
      const { id } = await home.sandboxes.create(LOCAL, {}, signal);
      const call = commandDoor(home.sandboxes);
      for (const text of ["one", "two", "three", "four"]) await call(id, `echo ${text} >> notes`);
      expect(await shell(await rewind(home, id, 1), "cat notes")).toBe("one\ntwo\nthree");
      expect(await shell(await rewind(home, id, 2), "cat notes")).toBe("one");
      await call(id, "echo other >> notes");
      await call(id, "echo way >> notes");
      expect(await shell(await rewind(home, id, 2), "cat notes")).toBe("one");
      expect(await shell(await rewind(home, id, 1), "ls")).toBe("");
      await expect(rewind(home, id, 1)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
      expect(home.problems).toEqual([]);
    });

    it("are taken unasked where that takes constant time, and where the maker of a sandbox says so", async () => {
      await using home = await openStateHome(storage, configured("auto"));
      const call = commandDoor(home.sandboxes);
      const [auto, always, never] = [
        await home.sandboxes.create(LOCAL, {}, signal),
        await home.sandboxes.create(LOCAL, { autoCheckpoint: "per_call" }, signal),
        await home.sandboxes.create(LOCAL, { autoCheckpoint: "off" }, signal),
      ];
      for (const { id } of [auto, always, never]) await call(id, "echo x > x");
      const isFlat = storage === "btrfs";
      expect(await Promise.all([auto, always, never].map(before))).toEqual([isFlat ? ["write_file"] : [], ["write_file"], []]);
      const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { sandbox: always.id }, {}, signal);
      expect(await fork?.info()).toMatchObject({ autoCheckpoint: "per_call" });
    });

    it("are kept for the last calls alone, beside those that somebody asked for", async () => {
      await using home = await openStateHome(storage, configured("per_call", 2));
      const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
      const call = commandDoor(home.sandboxes);
      const asked = await sandbox.timeLine.checkpoint({ label: "asked" }, signal);
      for (let turn = 0; turn < 6; turn += 1) await call(sandbox.id, `echo ${turn} >> notes`);
      await expect.poll(() => before(sandbox)).toEqual([undefined, "write_file", "write_file", "write_file"]);
      const { checkpoints, head, calls } = await sandbox.timeLine.list();
      expect([checkpoints[0], checkpoints[1]?.parent, head, calls?.length]).toEqual([asked, asked.id, checkpoints.at(-1)?.id, 3]);
      // One more is kept than is shown. Where they are raised, the sandbox itself lies on all of them.
      await expect.poll(() => home.layers()).toHaveLength(storage === "btrfs" ? 5 : 7);
      expect(await shell(await rewind(home, sandbox.id, 3), "cat notes")).toBe("0\n1\n2");
      await (await home.sandboxes.get(LOCAL, sandbox.id)).kill();
      await home.sandboxes.sweep();
      expect([await home.layers(), home.problems]).toEqual([[], []]);
    });
  });
}

describe("checkpoints before calls", () => {
  it("are not taken for Belljar's own tools that only read, and are for whatever others say of themselves", async () => {
    await using home = await openStateHome("home", PER_CALL);
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const call = commandDoor(home.sandboxes);
    await call(sandbox.id, "true", { tool: "read_file" });
    expect(await before(sandbox)).toEqual([]);
    await call(sandbox.id, "true", { tool: "foreign_read" });
    expect(await before(sandbox)).toEqual(["foreign_read"]);
  });

  it("are shared by calls that begin together, of which none is refused, in two processes", async () => {
    await using home = await openStateHome("home", PER_CALL);
    const other = await home.open();
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const doors = [commandDoor(home.sandboxes), commandDoor(other)];
    const turns = Array.from({ length: 16 }, (_, turn) => turn);
    const asked = (await other.get(LOCAL, sandbox.id)).timeLine.checkpoint({}, signal);
    const answers = await Promise.all(turns.map((turn) => doors[turn % 2]!(sandbox.id, `touch ${turn}; echo done`)));
    expect([answers, (await asked).label]).toEqual([turns.map(() => "done"), undefined]);
    expect((await shell(sandbox, "ls")).split("\n")).toHaveLength(16);
    const unasked = (await before(sandbox)).filter((tool) => tool !== undefined);
    expect(unasked.length).toBeLessThan(16);
    expect(home.problems).toEqual([]);
  });

  it("that cannot be taken stop no call, which says so once until one can be taken again", async () => {
    await using home = await openStateHome("home", PER_CALL);
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const call = commandDoor(home.sandboxes);
    const folder = join(home.crash.home, "sandboxes", sandbox.id, "checkpoints");
    await writeFile(folder, "in the way");
    expect(await call(sandbox.id, "echo ran")).toMatch(/^Note: no checkpoint was taken before this call[^\n]*\n+ran$/);
    expect(await call(sandbox.id, "echo ran")).toBe("ran");
    expect(home.problems).toEqual([expect.stringContaining(`No checkpoint of sandbox ${sandbox.id} could be taken before a call`)]);
    await rm(folder);
    await mkdir(folder);
    expect(await call(sandbox.id, "echo ran")).toBe("ran");
    expect(await before(sandbox)).toEqual(["write_file"]);
    await rm(folder, { recursive: true });
    await writeFile(folder, "in the way");
    expect(await call(sandbox.id, "echo ran")).toMatch(/^Note: no checkpoint/);
    await rm(folder);
    await sandbox.kill(); // it lies on what was raised
    await home.sweepOld();
    expect(await home.layers()).toEqual([]);
  });

  it.skipIf(process.getuid?.() !== 0)("give way on a full disk, and no call is lost (skipped without root, who alone mounts)", async () => {
    await using home = await openStateHome("home", PER_CALL);
    const layers = join(home.crash.home, "layers");
    await mkdir(layers, { recursive: true });
    await run("mount", ["-t", "tmpfs", "-o", "size=24m", "none", layers]);
    try {
      const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
      const call = commandDoor(home.sandboxes);
      const answers: string[] = [];
      while (!answers.at(-1)?.startsWith("Note") && answers.length < 9)
        answers.push(await call(sandbox.id, "head -c 5M /dev/urandom > big; echo ran"));
      expect(answers.slice(0, -1)).toEqual(Array.from({ length: answers.length - 1 }, () => "ran"));
      expect(answers.at(-1)).toMatch(/^Note: no checkpoint was taken before this call[^\n]*No space is left[^\n]*\n+ran$/);
      const left = await before(sandbox);
      expect(left.length).toBeLessThan(answers.length - 1);
      expect(await call(sandbox.id, "echo ran")).toBe("ran");
      expect(await before(sandbox)).toEqual([...left, "write_file"]);
      await sandbox.kill();
    } finally {
      await run("umount", [layers]);
    }
  });

  it("are given up when another process is at work for long, and are not waited for by a call that is cancelled", async () => {
    await using home = await openStateHome("home", PER_CALL);
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const call = commandDoor(home.sandboxes);
    const by = await markProcess(process.ppid);
    const work = JSON.stringify({ version: 1, work: { kind: "freeze", user: "snapshot-x", token: "t", by } });
    await writeFile(join(home.crash.home, "sandboxes", sandbox.id, "work.1.json"), work);
    const gone = new AbortController();
    const cancelled = call(sandbox.id, "touch ran", { signal: gone.signal });
    gone.abort();
    expect(await cancelled).toMatch(/^CANCELLED/);
    expect(await call(sandbox.id, "ls")).toMatch(/^Note: no checkpoint was taken before this call[^\n]*is being frozen[^\n]*\n+$/);
  });

  it("are not taken for a caller who may only look at the sandbox", async () => {
    await using home = await openStateHome("home", PER_CALL);
    const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
    const call = commandDoor(home.sandboxes);
    expect(await call(sandbox.id, "echo ran", { principal: { ...LOCAL, grants: { runtimes: ["other"] } } })).toMatch(/^FORBIDDEN/);
    expect(await before(sandbox)).toEqual([]);
    expect(await call(sandbox.id, "echo ran", { principal: { ...LOCAL, grants: {} } })).toBe("ran");
    expect(await before(sandbox)).toEqual(["write_file"]);
    const strange = { id: "other", name: "other" };
    expect(await call(sandbox.id, "echo ran", { principal: strange })).toMatch(/^SANDBOX_NOT_FOUND/);
    expect(await before(sandbox)).toHaveLength(1);
  });
});
