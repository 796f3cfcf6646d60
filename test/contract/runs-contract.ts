import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { RunningSandbox } from "../../src/runtime/contract/run.ts";
import {
  type ContractFeatures,
  type ContractSandbox,
  createSandbox,
  execOptions,
  itNeeds,
  type OpenRuntime,
  readUntil,
  run,
  soon,
} from "./contract-sandbox.ts";

const PAST = 1;

/** Stopping a sandbox and starting it again: an id has many runs, and its files lie beside them. */
export function runsContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a stopped sandbox", () => {
    itNeeds(features, "stop")("is started again with its files, as often as one likes", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.guest.files.write("notes/kept", "first", { parents: true, signal: soon() });
      await run(sandbox.guest, "mkdir folder && mv folder renamed && rm -f .profile && echo line > lines && ln -s kept notes/link");
      let running = sandbox.running;
      for (const generation of [2, 3]) {
        expect(await running.stop()).toMatchObject({ reason: "stopped", kept: true });
        running = await startRun(sandbox, generation);
        expect(running).toMatchObject({ id: sandbox.spec.id, generation });
        const found = await run(guestOf(running), "cat notes/link; ls -A; cat lines; echo line >> lines");
        expect(found.stdout.toString()).toContain("first");
        expect(found.stdout.toString()).toContain("renamed");
        expect(found.stdout.toString()).not.toContain(".profile");
        expect(found.stdout.toString().match(/^line$/gm) ?? []).toHaveLength(generation - 1);
      }
      expect((await running.kill("killed")).kept).toBeUndefined();
    });

    itNeeds(features, "stop")("finds its temporary files again, and lets everybody make new ones", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.guest.files.write("/tmp/kept", "first", { signal: soon() });
      await sandbox.running.stop();
      await using again = await startRun(sandbox, 2);
      const { files } = guestOf(again);
      expect((await files.read("/tmp/kept", { signal: soon() })).toString()).toBe("first");
      if (!features.isolation) return;
      for (const user of ["root", "user"]) {
        const made = await run(guestOf(again), "stat -c %a /tmp; touch /tmp/$(id -un)", { user });
        expect([made.stdout.toString(), made.stderr.toString()]).toEqual(["1777\n", ""]);
      }
    });

    if (features.isolation)
      itNeeds(features, "stop")("finds nothing in /dev/shm, which is memory", async () => {
        await using sandbox = await createSandbox(open);
        expect((await run(sandbox.guest, "echo x > /dev/shm/lost && ls /dev/shm")).stdout.toString()).toBe("lost\n");
        await sandbox.running.stop();
        await using again = await startRun(sandbox, 2);
        expect((await run(guestOf(again), "ls /dev/shm")).stdout.toString()).toBe("");
      });

    itNeeds(features, "stop")("has no process and no open operation", async () => {
      await using sandbox = await createSandbox(open);
      await using command = await sandbox.guest.exec(execOptions("echo ready; exec sleep 600", { stdin: false }));
      await readUntil(command.stdout, "ready");
      const ended = Promise.allSettled([command.exited]);
      const end = await sandbox.running.stop();
      expect((await ended)[0]).toMatchObject({ status: "rejected", reason: { code: "SANDBOX_STOPPED" } });
      expect(await sandbox.running.ended).toEqual(end);
      await expect(run(sandbox.guest, "true")).rejects.toMatchObject({ code: "SANDBOX_STOPPED" });
      expect(await sandbox.runtime.open(sandbox.spec)).toBeUndefined();
      expect(await sandbox.runtime.clear(sandbox.spec)).toMatchObject({ reason: "stopped", kept: true });
      await using again = await startRun(sandbox, 2);
      expect((await guestOf(again).processes(soon())).some(({ argv }) => argv.includes("600"))).toBe(false);
    });

    itNeeds(features, "stop")("was stopped by its deadline, if that is its action", async () => {
      await using sandbox = await createSandbox(open, { deadline: new Date(Date.now() + 60_000), deadlineAction: "stop" });
      await sandbox.guest.files.write("kept", "x", { signal: soon() });
      expect(await sandbox.running.usage()).toMatchObject({ deadlineAction: "stop" });
      await sandbox.running.extend(new Date(PAST));
      expect(await sandbox.running.ended).toMatchObject({ reason: "deadline", kept: true });
      await using again = await startRun(sandbox, 2);
      expect((await guestOf(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
    });

    itNeeds(features, "stop")("has files that can be measured, until it is removed", async () => {
      await using sandbox = await createSandbox(open);
      const { runtime, spec } = sandbox;
      await run(
        sandbox.guest,
        "head -c 3000000 /dev/urandom > kept; mkdir -p a/b && chmod 700 a && head -c 2000000 /dev/urandom > a/b/c; ln a/b/c a/d",
      );
      await sandbox.running.stop();
      const size = await runtime.layers.measure(spec, soon());
      expect(size?.bytes).toBeGreaterThanOrEqual(5_000_000);
      expect(size?.bytes).toBeLessThan(8_000_000);
      expect(await runtime.layers.has(spec)).toBe(true);
      await using again = await startRun(sandbox, 2);
      expect((await run(guestOf(again), "wc -c < kept")).stdout.toString()).toBe("3000000\n");
      await again.stop();
      const last = { ...spec, generation: 2 };
      expect(await runtime.layers.measure(last, soon())).toMatchObject({ isInMemory: size?.isInMemory });
      await runtime.layers.remove(last);
      expect([await runtime.layers.has(last), await runtime.layers.measure(last, soon())]).toEqual([false, undefined]);
    });

    itNeeds(features, "stop")("leaves nothing once it is removed", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.guest.files.write("kept", "x", { signal: soon() });
      await sandbox.running.stop();
      for (let round = 0; round < 2; round += 1) await sandbox.runtime.layers.remove(sandbox.spec);
      for (const name of ["layers", "root"]) expect(existsSync(join(sandbox.spec.folder, name))).toBe(false);
    });

    itNeeds(features, "stop")("is deleted by a kill that comes with the stop", async () => {
      await using sandbox = await createSandbox(open);
      const { runtime, spec } = sandbox;
      const other = await runtime.open(spec);
      const [stopped, killed] = await Promise.all([sandbox.running.stop(), other?.kill("killed")]);
      expect(stopped.kept).toBe(killed?.kept);
      await runtime.layers.remove(spec);
      expect(existsSync(join(spec.folder, "layers"))).toBe(false);
    });
  });

  describe("a sandbox at its deadline", () => {
    itNeeds(features, "pause")("is paused, if that is its action, and goes on when it resumes", async () => {
      await using sandbox = await createSandbox(open, { deadline: new Date(Date.now() + 60_000), deadlineAction: "pause" });
      const { running, guest } = sandbox;
      await using command = await guest.exec(execOptions("while read line; do echo got $line; done"));
      await running.extend(new Date(PAST));
      await running.usage(); // the keeper has seen its timer by the time it answers
      const paused = await running.usage();
      expect(paused).toMatchObject({ phase: "paused", deadlineAction: "pause" });
      expect(paused.deadline?.getTime()).toBeGreaterThan(Date.now() + 6 * 24 * 3_600_000);
      await running.resume();
      await running.extend(new Date(Date.now() + 60_000), "kill");
      command.stdin.write("word\n");
      expect(await readUntil(command.stdout, "\n")).toBe("got word\n");
      await running.extend(new Date(PAST));
      expect(await running.ended).toMatchObject({ reason: "deadline" });
    });

    itNeeds(features, "pause")(
      "that is paused then stays so, and ends at the one after that with its files kept if they can be",
      async () => {
        await using sandbox = await createSandbox(open, { deadline: new Date(Date.now() + 60_000), deadlineAction: "pause" });
        const { running } = sandbox;
        await running.pause();
        await running.extend(new Date(PAST));
        await running.usage();
        const paused = await running.usage();
        expect(paused).toMatchObject({ phase: "paused", deadlineAction: "pause" });
        expect(paused.deadline?.getTime()).toBeGreaterThan(Date.now() + 6 * 24 * 3_600_000);
        await running.extend(new Date(PAST));
        const end = await running.ended;
        expect([end.reason, end.kept]).toEqual(["deadline", features.stop ? true : undefined]);
      },
    );

    itNeeds(features, "pause")("that was resumed since is paused again", async () => {
      await using sandbox = await createSandbox(open, { deadline: new Date(Date.now() + 60_000), deadlineAction: "pause" });
      const { running } = sandbox;
      for (let round = 0; round < 2; round += 1) {
        await running.extend(new Date(PAST));
        await running.usage();
        expect(await running.usage()).toMatchObject({ phase: "paused" });
        await running.resume();
      }
    });
  });

  describe("what a runtime cannot do", () => {
    it.skipIf(features.stop)(
      `is refused: a stop, and an action of that kind${features.stop ? " (skipped: it can stop)" : ""}`,
      async () => {
        await using sandbox = await createSandbox(open);
        const refused = { code: "NOT_SUPPORTED" };
        await expect(sandbox.running.stop()).rejects.toMatchObject(refused);
        await expect(sandbox.running.extend(new Date(Date.now() + 60_000), "stop")).rejects.toMatchObject(refused);
        await expect(createSandbox(open, { deadlineAction: "stop" })).rejects.toMatchObject(refused);
        expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
      },
    );

    it.skipIf(features.pause)(`is refused: a pause at the deadline${features.pause ? " (skipped: it can pause)" : ""}`, async () => {
      await using sandbox = await createSandbox(open);
      const refused = { code: "NOT_SUPPORTED" };
      await expect(sandbox.running.extend(new Date(Date.now() + 60_000), "pause")).rejects.toMatchObject(refused);
      await expect(createSandbox(open, { deadlineAction: "pause" })).rejects.toMatchObject(refused);
      expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
    });
  });

  it("a sandbox shows the folders that its base describes", async () => {
    await using sandbox = await createSandbox(open);
    const { home, cwd, env } = sandbox.spec.inside;
    expect(sandbox.running.env).toEqual(env);
    if (!features.isolation) return;
    const said = await run(sandbox.guest, 'echo "$HOME"; pwd');
    expect(said.stdout.toString()).toBe(`${home}\n${cwd}\n`);
  });
}

function startRun({ runtime, spec }: ContractSandbox, generation: number): Promise<RunningSandbox> {
  return runtime.create({ ...spec, generation }, soon());
}

function guestOf(running: RunningSandbox): Guest {
  return createGuest((signal) => running.connect(signal), { ended: running.ended });
}
